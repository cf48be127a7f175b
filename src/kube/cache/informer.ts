import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import { toError } from '../util/errors.ts';
import { abortable, aborted } from '../util/waits.ts';
import type { Clock, Timer } from '../workqueue/clock.ts';
import type { ObjectStates, ReflectorSink } from './reflector.ts';
import { type IndexFunction, type Lister, Store } from './store.ts';

/**
 * Gets the changes of objects. The objects are shared: read them, never change them. The methods are called one at a
 * time, in order, right after the change of the cache. An error that a method throws, or its promise rejects with, is
 * reported.
 */
export interface EventHandler<T> {
  onAdd?(object: T): void;
  /** In a resync, `previous` and `current` are the same object. */
  onUpdate?(previous: T, current: T): void;
  /** The object is its state at the deletion or, if that was missed, its last seen state. */
  onDelete?(object: T): void;
}

export interface InformerOptions<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly clock: Clock;
  /** Applied before an object is cached. It can drop unused fields, which saves memory. */
  readonly transform?: ((object: T) => T) | undefined;
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  /** Which objects the cache keeps, if no selector of the API can express it; default all. */
  readonly keep?: ((object: T) => boolean) | undefined;
  /**
   * Called with a failure that is handled: an object could not be read (`decode`, `transform` or an index function
   * threw), and its last state stays; a handler threw.
   */
  readonly onError: (error: unknown, doing: 'read' | 'handle') => void;
}

interface Listener<T> {
  readonly handler: EventHandler<T>;
  readonly resyncMs: number;
  resync?: Timer;
}

/** Objects of a list that are cached and handed to the handlers in one turn of the event loop. */
const SLICE = 500;
/** The shortest period of a resync, as in client-go. */
const MIN_RESYNC_MS = 1_000;

/**
 * A cache that a reflector fills, with any number of handlers (client-go's SharedIndexInformer). Each handler gets the
 * changes in order. A handler that throws or is added late does not affect the others.
 */
export class Informer<T extends KubeObject> implements ReflectorSink {
  readonly #options: InformerOptions<T>;
  readonly #store: Store<T>;
  readonly #listeners: Listener<T>[] = [];
  #isRunning = false;
  #isStopped = false;
  #synced = false;
  /** Resolves when the informer has synced or stopped. */
  readonly #settled = Promise.withResolvers<void>();

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#store = new Store(options.indexers);
  }

  get lister(): Lister<T> {
    return this.#store;
  }

  /**
   * Adds indices to the cache.
   * @throws Error if another function has the name.
   */
  addIndexers(indexers: Readonly<Record<string, IndexFunction<T>>>): void {
    this.#store.addIndexers(indexers);
  }

  /** Whether the first list is in the cache, and was handed to every handler added before. Once true, it stays true. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Resolves once `hasSynced()`; rejects with the signal's reason if it aborts first, or if the informer stops. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await abortable(this.#settled.promise, signal);
    if (!this.#synced) throw new Error('the informer stopped before it synced');
  }

  /**
   * Adds a handler, which first gets every cached object as an add. With `resyncMs` it gets every cached object again
   * with this period, as an update to itself. This repairs lost or failed work.
   * @throws Error if the informer has stopped.
   */
  addEventHandler(handler: EventHandler<T>, { resyncMs = 0 }: { readonly resyncMs?: number } = {}): void {
    if (this.#isStopped) throw new Error('the informer has stopped: create another one');
    const listener: Listener<T> = { handler, resyncMs };
    this.#listeners.push(listener);
    for (const object of this.#store.list()) this.#tell(listener, (each) => each.onAdd?.(object));
    if (this.#isRunning) this.#armResync(listener);
  }

  /** Resyncs until the signal aborts; after that no handler is called. @throws Error if called again. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) throw new Error('an informer runs once: create another one');
    this.#isRunning = true;
    for (const listener of this.#listeners) this.#armResync(listener);
    signal.addEventListener('abort', () => this.#end(), { once: true });
    if (signal.aborted) this.#end();
    await aborted(signal);
  }

  #end(): void {
    this.#isStopped = true;
    for (const { resync } of this.#listeners) resync?.cancel();
    this.#settled.resolve();
  }

  #armResync(listener: Listener<T>): void {
    if (listener.resyncMs <= 0) return;
    listener.resync = this.#options.clock.setTimer(Math.max(listener.resyncMs, MIN_RESYNC_MS), () => {
      this.#armResync(listener);
      void this.#each(this.#store.keys(), (key) => {
        const object = this.#store.get(key);
        if (object) this.#tell(listener, (each) => each.onUpdate?.(object, object));
      });
    });
  }

  #notify(call: (handler: EventHandler<T>) => unknown): void {
    for (const listener of [...this.#listeners]) this.#tell(listener, call);
  }

  #tell({ handler }: Listener<T>, call: (handler: EventHandler<T>) => unknown): void {
    if (this.#isStopped) return;
    const failed = (error: unknown) => this.#options.onError(error, 'handle');
    try {
      const returned = call(handler);
      // An async handler: TypeScript allows one where the return type is void.
      if (returned instanceof Promise) returned.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Decodes and transforms an object; undefined if that failed. */
  read(value: unknown, key: ObjectKey): T | undefined {
    const { resource, transform } = this.#options;
    try {
      const object = resource.decode(value);
      return transform ? transform(object) : object;
    } catch (cause) {
      const error = new Error(`cannot read ${resource.kind} ${key}: ${toError(cause).message}`, { cause });
      this.#options.onError(error, 'read');
      return undefined;
    }
  }

  /** Ends early when the informer stops. */
  async replace(states: ObjectStates, index: number): Promise<void> {
    // The views of an object come from read().
    await this.#each(states, ([, views]) => this.upsert(views[index] as T | undefined));
    // Their last state was not seen: the cached one may be older.
    const gone = this.#store.keys().filter((key) => !states.has(key));
    await this.#each(gone, (key) => this.remove(key));
    if (this.#isStopped) return;
    this.#synced = true;
    this.#settled.resolve();
  }

  /** Visits all items, and yields to the event loop in between, until the informer stops. */
  async #each<I>(items: Iterable<I>, visit: (item: I) => void): Promise<void> {
    let visited = 0;
    for (const item of items) {
      if (this.#isStopped) return;
      visit(item);
      if (++visited % SLICE === 0) await eventLoopTurn();
    }
  }

  upsert(object: T | undefined): void {
    if (object === undefined) return;
    const key = keyOf(object);
    const previous = this.#store.get(key);
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      // The object was deleted and created again under the same name, and the deletion was missed.
      this.remove(key);
      this.upsert(object);
      return;
    }
    if (this.#options.keep?.(object) === false) {
      // With its previous state, as the API server does it for selectors: handlers know the object by that.
      this.remove(key);
      return;
    }
    if (previous && previous.metadata.resourceVersion === object.metadata.resourceVersion) return;
    try {
      this.#store.set(object);
    } catch (cause) {
      this.#options.onError(new Error(`an index function failed on ${key}`, { cause }), 'read');
      return;
    }
    this.#notify((each) => (previous ? each.onUpdate?.(previous, object) : each.onAdd?.(object)));
  }

  remove(key: ObjectKey, last?: T): void {
    const previous = this.#store.delete(key);
    if (!previous) return;
    this.#notify((each) => each.onDelete?.(last ?? previous));
  }
}

/** Waits until all caches have synced. Resolves with false if the signal aborts first; rejects if an informer stops. */
export async function waitForSync(
  informers: readonly Pick<Informer<never>, 'waitForSync'>[],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
