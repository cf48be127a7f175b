import { ApiError, TransportError } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import { toError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { runTaskGroup } from '../util/task-group.ts';
import { Informer, type InformerOptions } from './informer.ts';
import { Reflector, type ReflectorOptions, type ReflectorSink } from './reflector.ts';

/** Which objects of a resource are watched, and which parts of them are cached. */
export interface WatchSelection<T extends KubeObject>
  extends Pick<ReflectorOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>,
    Pick<InformerOptions<T>, 'transform' | 'keep' | 'indexers'> {
  /**
   * The watch begins when this resolves with true, for example when a CRD is installed; of several callers, that of the
   * first. It begins at once if any caller has no condition.
   */
  readonly startWhen?: (signal: AbortSignal) => Promise<boolean>;
}

export interface SharedInformersOptions extends Pick<ReflectorOptions, 'client' | 'clock' | 'metrics'> {
  readonly log: Logger;
}

/** One list and watch, and its caches. */
interface Shared {
  readonly options: ReflectorOptions & Pick<InformerOptions<KubeObject>, 'onError'>;
  startWhen: WatchSelection<KubeObject>['startWhen'];
  readonly caches: {
    /** What the cache keeps: these functions. */
    readonly keeps: readonly unknown[];
    readonly informer: ReflectorSink & Pick<Informer<never>, 'run'>;
    readonly isMetadataEnough: boolean;
  }[];
  isRunning: boolean;
}

/**
 * The informers of a process (controller-runtime's cache, client-go's SharedInformerFactory). There is one list and
 * watch per resource, namespace and selectors. Parts that keep the same fields also share a cache. Parts that keep
 * different fields have a small cache each, for example of a hundred thousand pods.
 */
export class SharedInformers {
  readonly #options: SharedInformersOptions;
  readonly #shared = new Map<string, Shared>();

  constructor(options: SharedInformersOptions) {
    this.#options = options;
  }

  /**
   * The informer of these objects, shared by all callers with the same selection.
   * @throws Error if the objects are watched already.
   */
  informer<T extends KubeObject>(resource: Resource<T>, selection: WatchSelection<T> = {}): Informer<T> {
    const { transform, keep, indexers } = selection;
    const { caches, options, isRunning } = this.#sharedBy(resource, selection);
    const keeps = [resource.decode, transform, keep];
    const known = caches.find((cache) => cache.keeps.every((each, i) => each === keeps[i]));
    if (!known && isRunning)
      throw new Error(`${resource.plural} are watched already: create informers before the start`);
    const { clock, onError } = options;
    // The same functions return the same type.
    const informer =
      (known?.informer as Informer<T>) ?? new Informer<T>({ resource, transform, keep, clock, onError });
    if (!known) caches.push({ keeps, informer, isMetadataEnough: resource.metadataOnly === true });
    if (indexers) informer.addIndexers(indexers);
    return informer;
  }

  /** Updates all caches until the signal aborts. Runs once. */
  run(signal: AbortSignal): Promise<void> {
    const watches = Array.from(this.#shared.values(), (shared) => async (running: AbortSignal) => {
      if (!shared.startWhen || (await shared.startWhen(running))) await runShared(shared, running);
    });
    return runTaskGroup(signal, watches);
  }

  #sharedBy(
    resource: Resource<KubeObject>,
    selection: Omit<WatchSelection<never>, 'transform' | 'keep' | 'indexers'>,
  ): Shared {
    const { group, version, plural } = resource;
    const { namespace, labelSelector, fieldSelector, startWhen } = selection;
    const key = JSON.stringify([group, version, plural, namespace, labelSelector, fieldSelector]);
    const known = this.#shared.get(key);
    if (known) {
      if (!startWhen) known.startWhen = undefined;
      return known;
    }
    const { log, ...common } = this.#options;
    const onError = informerLog(log, plural);
    const options = { ...common, resource, namespace, labelSelector, fieldSelector, onError };
    const shared = { options, startWhen, caches: [], isRunning: false };
    this.#shared.set(key, shared);
    return shared;
  }
}

async function runShared(shared: Shared, signal: AbortSignal): Promise<void> {
  shared.isRunning = true;
  const { options, caches } = shared;
  const { metadataOnly: _, ...resource } = options.resource;
  const isMetadataEnough = caches.every((cache) => cache.isMetadataEnough);
  const watched = isMetadataEnough ? { ...resource, metadataOnly: true as const } : resource;
  const sinks = caches.map(({ informer }) => informer);
  const reflector = new Reflector({ ...options, resource: watched }, sinks);
  await Promise.all([reflector.run(signal), ...caches.map(({ informer }) => informer.run(signal))]);
}

/**
 * Logs failures that the informer retries as warnings, and a handler that threw or an unreadable object as errors. No
 * warnings are a server that asks for a later retry, such as for a definition that was just created, and a quiet watch:
 * servers need not send bookmarks. If the connection is dead, the next watch fails.
 */
export function informerLog(log: Logger, resource: string) {
  return (err: unknown, doing: 'list' | 'watch' | 'read' | 'handle'): void => {
    if (doing === 'handle') log.error({ resource, err }, 'event handler threw');
    else if (doing === 'read')
      log.error({ resource, err }, 'cannot read object: its last state stays in the cache');
    else {
      const isExpected =
        (err instanceof ApiError && err.status === 429) ||
        (err instanceof TransportError && err.code === 'ESTALLED');
      const level = isExpected ? 'info' : 'warn';
      const reason = toError(err).message;
      log[level]({ resource, doing, reason }, 'informer interrupted');
    }
  };
}
