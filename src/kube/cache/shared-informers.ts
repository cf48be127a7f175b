import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import { runTaskGroup } from '../util/task-group.ts';
import type { Informer, InformerOptions } from './informer.ts';
import { SharedWatch, type SharedWatchOptions } from './shared-watch.ts';

/** Which objects of a resource are watched, and which parts of them are cached. */
export interface Selection<T extends KubeObject>
  extends Pick<
    InformerOptions<T>,
    'namespace' | 'labelSelector' | 'fieldSelector' | 'transform' | 'keep' | 'indexers'
  > {
  /** Handles errors, in place of the common handler. The first caller that selects the objects sets it. */
  readonly onError?: InformerOptions<T>['onError'];
  /**
   * The watch begins when this resolves with true, for example when a CRD is installed. Set like `onError`, but the
   * watch begins at once if any caller has no condition.
   */
  readonly startWhen?: (signal: AbortSignal) => Promise<boolean>;
}

/** The source of informers for the parts of a process. */
export interface Informers {
  /**
   * The informer of these objects, shared by all callers with the same selection. The owner of the informers runs it.
   */
  informer<T extends KubeObject>(resource: Resource<T>, selection?: Selection<T>): Informer<T>;
}

export interface SharedInformersOptions extends Pick<SharedWatchOptions, 'client' | 'clock'> {
  /** Creates the error handler of a resource. */
  readonly onError: (plural: string) => InformerOptions<KubeObject>['onError'];
}

interface Shared {
  readonly watch: SharedWatch;
  startWhen: Selection<KubeObject>['startWhen'];
  readonly caches: { readonly keeps: readonly unknown[]; readonly informer: unknown }[];
}

/**
 * The informers of a process (controller-runtime's cache, client-go's SharedInformerFactory). There is one list and
 * watch per resource, namespace and selectors. Parts that keep the same fields also share a cache. Parts that keep
 * different fields have a small cache each, for example of a hundred thousand pods.
 */
export class SharedInformers implements Informers {
  readonly #options: SharedInformersOptions;
  readonly #shared = new Map<string, Shared>();

  constructor(options: SharedInformersOptions) {
    this.#options = options;
  }

  /** @throws Error if the informers are running. */
  informer<T extends KubeObject>(resource: Resource<T>, selection: Selection<T> = {}): Informer<T> {
    const { transform, keep, indexers } = selection;
    const { caches, watch } = this.#sharedBy(resource, selection);
    const keeps = [resource.decode, transform, keep];
    const known = caches.find((cache) => cache.keeps.every((each, i) => each === keeps[i]));
    // The same functions return the same type.
    const informer = known
      ? (known.informer as Informer<T>)
      : watch.informer({ resource, ...(transform && { transform }), ...(keep && { keep }) });
    if (!known) caches.push({ keeps, informer });
    if (indexers) informer.addIndexers(indexers);
    return informer;
  }

  /** Updates all caches until the signal aborts. Runs once. */
  run(signal: AbortSignal): Promise<void> {
    return runTaskGroup(
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
    if (known) {
      if (!startWhen) known.startWhen = undefined;
      return known;
    }
    const { client, clock } = this.#options;
    const onError = selection.onError ?? this.#options.onError(plural);
    const selected = { namespace, labelSelector, fieldSelector };
    const watch = new SharedWatch({ client, clock, resource, ...selected, onError });
    const shared = { watch, startWhen, caches: [] };
    this.#shared.set(key, shared);
    return shared;
  }
}
