import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import { together } from '../util/together.ts';
import type { Informer, InformerOptions } from './informer.ts';
import { SharedWatch, type SharedWatchOptions } from './shared-watch.ts';

/** Which objects of a resource are watched, and what is kept of them. */
export interface Selection<T extends KubeObject>
  extends Pick<
    InformerOptions<T>,
    'namespace' | 'labelSelector' | 'fieldSelector' | 'transform' | 'keep' | 'indexers'
  > {
  /** Is told of errors, in place of the common handler. The first caller that asks for the objects sets it. */
  readonly onError?: InformerOptions<T>['onError'];
  /** The watch begins when this resolves with true, say once the API server knows the resource. Set as `onError`. */
  readonly startWhen?: (signal: AbortSignal) => Promise<boolean>;
}

/** Where parts get their caches from. */
export interface Informers {
  /** The informer of these objects: the same one for all callers that keep the same of them. It is run for them. */
  informer<T extends KubeObject>(resource: Resource<T>, selection?: Selection<T>): Informer<T>;
}

export interface SharedInformersOptions extends Pick<SharedWatchOptions, 'client' | 'clock'> {
  /** Makes the handler of errors of a resource. */
  readonly onError: (plural: string) => InformerOptions<KubeObject>['onError'];
}

interface Shared {
  readonly watch: SharedWatch;
  readonly startWhen: Selection<KubeObject>['startWhen'];
  readonly caches: { readonly keeps: readonly unknown[]; readonly informer: unknown }[];
}

/**
 * The informers of a process (controller-runtime's cache, client-go's SharedInformerFactory). There is one list and watch
 * of a resource, namespace and selectors. Parts that keep the same of its objects share the cache as well; parts that keep
 * different things, say of pods by the hundred thousand, have a small cache each.
 */
export class SharedInformers implements Informers {
  readonly #options: SharedInformersOptions;
  readonly #shared = new Map<string, Shared>();

  constructor(options: SharedInformersOptions) {
    this.#options = options;
  }

  /** @throws Error when the informers run already. */
  informer<T extends KubeObject>(resource: Resource<T>, selection: Selection<T> = {}): Informer<T> {
    const { transform, keep, indexers } = selection;
    const { caches, watch } = this.#sharedBy(resource, selection);
    const keeps = [resource.narrow, transform, keep];
    const known = caches.find((cache) => cache.keeps.every((each, i) => each === keeps[i]));
    // The same functions make the same type.
    const informer = known
      ? (known.informer as Informer<T>)
      : watch.informer({ resource, ...(transform && { transform }), ...(keep && { keep }) });
    if (!known) caches.push({ keeps, informer });
    if (indexers) informer.addIndexers(indexers);
    return informer;
  }

  /** Keeps all caches until the signal aborts. Runs once. */
  run(signal: AbortSignal): Promise<void> {
    return together(
      signal,
      Array.from(this.#shared.values(), ({ watch, startWhen }) => async (running: AbortSignal) => {
        if (!startWhen || (await startWhen(running))) await watch.run(running);
      }),
    );
  }

  #sharedBy(
    resource: Resource<KubeObject>,
    selection: Omit<Selection<never>, 'transform' | 'keep' | 'indexers'>,
  ): Shared {
    const { group, version, plural } = resource;
    const { namespace, labelSelector, fieldSelector, startWhen } = selection;
    const key = JSON.stringify([group, version, plural, namespace, labelSelector, fieldSelector]);
    const known = this.#shared.get(key);
    if (known) return known;
    const { client, clock } = this.#options;
    const onError = selection.onError ?? this.#options.onError(plural);
    const selected = { namespace, labelSelector, fieldSelector };
    const watch = new SharedWatch({ client, clock, resource, ...selected, onError });
    const shared = { watch, startWhen, caches: [] };
    this.#shared.set(key, shared);
    return shared;
  }
}
