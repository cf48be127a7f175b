import { identityOf, type KubeObject, type ObjectKey } from '../api/object.ts';
import { decodeObject, type Resource } from '../api/resource.ts';
import { aborted } from '../util/linked-abort.ts';
import { Informer, type InformerOptions } from './informer.ts';
import { type ObjectStates, objectReader, Reflector, type ReflectorSink } from './reflector.ts';

/** The views of one object, one per cache; undefined if a view could not be read. */
interface Views extends KubeObject {
  readonly views: readonly unknown[];
}

/** A cache that the watch feeds. The other methods get the results of `read`. */
interface FedCache {
  readonly informer: Pick<Informer<never>, 'run'>;
  readonly resource: Resource<KubeObject>;
  read(value: unknown): unknown;
  replace(views: ObjectStates<unknown>): Promise<void>;
  upsert(view: unknown): void;
  remove(key: ObjectKey, view: unknown): void;
  connect(): void;
  error(error: unknown): void;
}

export type SharedWatchOptions = Omit<
  InformerOptions<KubeObject>,
  'indexers' | 'keep' | 'source' | 'transform'
>;

/**
 * One list and watch of a resource for any number of caches, which keep different fields of the same objects. Each
 * object is split into views as it arrives: a long list is never held as a whole.
 */
export class SharedWatch {
  readonly #options: SharedWatchOptions;
  readonly #caches: FedCache[] = [];
  #reflector: Reflector<Views> | undefined;

  constructor(options: SharedWatchOptions) {
    this.#options = options;
  }

  /**
   * A cache of the watched objects, after the resource's `decode`, `transform` and `keep`.
   * @throws Error if the watch has begun.
   */
  informer<T extends KubeObject>(
    options: Pick<InformerOptions<T>, 'resource' | 'transform' | 'keep'>,
  ): Informer<T> {
    const { resource, onError, client, clock } = this.#options;
    if (this.#reflector)
      throw new Error(`${resource.plural} are watched already: create informers before the start`);
    let sink: ReflectorSink<T> | undefined;
    const unread: typeof onError = (error, doing) => {
      onError(error, doing);
      sink?.error(error);
    };
    const reader = objectReader({ ...options, onError: unread });
    const lastVersion = () => this.#reflector?.lastSyncResourceVersion ?? '';
    const informer = new Informer<T>({
      ...options,
      client,
      clock,
      onError,
      source: {
        get lastSyncResourceVersion() {
          return lastVersion();
        },
        async run(own, signal) {
          sink = own;
          await aborted(signal);
        },
      },
    });
    this.#caches.push({
      informer,
      resource: options.resource,
      read: (value) => reader(value)[1],
      // The views of a cache come from its own reader.
      replace: async (views) => await sink?.replace(views as ObjectStates<T>),
      upsert: (view) => view !== undefined && sink?.upsert(view as T),
      remove: (key, view) => sink?.remove(key, view as T | undefined),
      connect: () => sink?.connect(),
      error: (error) => sink?.error(error),
    });
    return informer;
  }

  /** Lists and watches, and updates all caches, until the signal aborts. Runs once. */
  async run(signal: AbortSignal): Promise<void> {
    const caches = this.#caches;
    const { metadataOnly: _, ...resource } = this.#options.resource;
    const isMetadataEnough = caches.every((cache) => cache.resource.metadataOnly);
    this.#reflector = new Reflector<Views>({
      ...this.#options,
      resource: {
        ...resource,
        ...(isMetadataEnough && { metadataOnly: true as const }),
        decode: (value) => ({
          metadata: identityOf(decodeObject(value)),
          views: caches.map((cache) => cache.read(value)),
        }),
      },
    });
    const running = caches.map(({ informer }) => informer.run(signal));
    await this.#reflector.run(this.#sink(), signal);
    await Promise.all(running);
  }

  #sink(): ReflectorSink<Views> {
    const caches = this.#caches;
    return {
      async replace(states) {
        const viewsOf = (index: number) => ({
          has: (key: ObjectKey) => states.has(key),
          *[Symbol.iterator]() {
            for (const [key, object] of states) yield [key, object?.views[index]] as const;
          },
        });
        await Promise.all(caches.map((cache, index) => cache.replace(viewsOf(index))));
      },
      upsert({ views }) {
        for (const [index, cache] of caches.entries()) cache.upsert(views[index]);
      },
      remove(key, last) {
        for (const [index, cache] of caches.entries()) cache.remove(key, last?.views[index]);
      },
      connect() {
        for (const cache of caches) cache.connect();
      },
      error(error) {
        for (const cache of caches) cache.error(error);
      },
    };
  }
}
