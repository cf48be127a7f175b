import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { ObjectCache } from '@kubernetes/client-node';
import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { abortable, linkedAbort } from '../util/linked-abort.ts';
import {
  Callbacks,
  type ErrorCallback,
  type ObjectCallback,
  type ObjectVerb,
  type Subscription,
} from './callbacks.ts';
import { type EventHandler, Listener, type Registration } from './listener.ts';
import { NotificationQueue } from './notification-queue.ts';
import {
  type ObjectSource,
  type ObjectStates,
  type OnReflectorError,
  Reflector,
  type ReflectorOptions,
  type ReflectorSink,
} from './reflector.ts';
import { type IndexFunction, type Lister, Store } from './store.ts';

export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'onError'> {
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  /** Which objects the cache keeps, if no selector of the API can express it; default all. */
  readonly keep?: (object: T) => boolean;
  /** The source of the objects; default a new reflector. */
  readonly source?: ObjectSource<T>;
  /** Like a reflector's; `handle` means that a handler threw. */
  readonly onError: (error: unknown, doing: Parameters<OnReflectorError>[1] | 'handle') => void;
}

/** Objects that are put into the cache in one turn of the event loop, and before the handlers have seen them. */
const SLICE = 1_000;

/**
 * A shared informer: one list and watch, one cache, any number of handlers (client-go's SharedIndexInformer).
 * Each handler gets the changes in order. A handler that throws or is added late does not affect the others.
 *
 * It also implements client-node's `Informer<T>` and `ObjectCache<T>`, for any T that is also an object of client-node.
 */
export class Informer<T extends KubeObject> implements ObjectCache<T> {
  readonly #options: InformerOptions<T>;
  readonly #source: ObjectSource<T>;
  readonly #store: Store<T>;
  readonly #queue = new NotificationQueue();
  readonly #listeners = new Set<Listener<T>>();
  readonly #callbacks = new Callbacks<T>((handler) => this.#listen(handler));
  /** Woken when the informer has synced or stops. */
  readonly #waiters = new Set<() => void>();
  #state: 'new' | 'running' | 'stopped' = 'new';
  #stopper = new AbortController();
  /** Of the last run. */
  #ended = Promise.resolve();
  #listed = false;
  #synced = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#source = options.source ?? new Reflector(options);
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

  /** The cached object. A namespaced object is only found with its namespace. */
  get(name: string, namespace?: string): T | undefined {
    return this.#store.get(namespace ? `${namespace}/${name}` : name);
  }

  /** The cached objects, or those of one namespace. */
  list(namespace?: string): readonly T[] {
    return this.#store.list(namespace || undefined);
  }

  /** The newest resourceVersion seen; empty before the first list, and after the server has rejected it. */
  get lastSyncResourceVersion(): string {
    return this.#source.lastSyncResourceVersion;
  }

  /** Whether the first list is in the cache, and was handed to every handler added before. Once true, it stays true. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Resolves once `hasSynced()`; rejects with the signal's reason if it aborts first, or if the informer stops. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#synced && this.#state !== 'stopped') {
      let wake = () => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#waiters.add(wake);
      await abortable(woken, signal).finally(() => this.#waiters.delete(wake));
    }
    if (!this.#synced) throw new Error('the informer stopped before it synced');
  }

  /**
   * Adds a handler, which first gets every cached object as an add. With `resyncMs` it gets every cached object again
   * with this period, as an update to itself. This repairs lost or failed work.
   * @throws Error if the informer has stopped.
   */
  addEventHandler(handler: EventHandler<T>, options: { readonly resyncMs?: number } = {}): Registration {
    if (this.#state === 'stopped')
      throw new Error('the informer has stopped: run it again before adding a handler');
    return this.#listen(handler, options);
  }

  /** Adds a callback, which first gets every cached object as an `add`. Calls follow the order of the changes. */
  on(verb: ObjectVerb, callback: ObjectCallback<T>): void;
  on(verb: 'connect' | 'error', callback: ErrorCallback): void;
  on(...subscription: Subscription<T>): void {
    this.#callbacks.on(...subscription);
  }

  /** Removes a callback. */
  off(verb: ObjectVerb, callback: ObjectCallback<T>): void;
  off(verb: 'connect' | 'error', callback: ErrorCallback): void;
  off(...subscription: Subscription<T>): void {
    this.#callbacks.off(...subscription);
  }

  /**
   * Lists and watches until the signal aborts; after that no handler is called. It may run again: handlers then get the
   * changes that they missed.
   * @throws Error if it is running.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state === 'running')
      throw new Error('the informer is running: stop it before running it again');
    const { controller, unlink } = linkedAbort(signal);
    this.#stopper = controller;
    this.#state = 'running';
    this.#queue.start();
    for (const listener of this.#listeners) listener.start();
    if (controller.signal.aborted) this.#pause();
    else controller.signal.addEventListener('abort', () => this.#pause(), { once: true });
    const former = this.#ended;
    this.#ended = former
      .then(() => this.#source.run(this.#sink(controller.signal), controller.signal))
      .finally(unlink);
    await this.#ended;
  }

  /** Runs until stop(). Resolves once `hasSynced()`, or when it is stopped first. */
  async start(): Promise<void> {
    if (this.#state !== 'running') void this.run(new AbortController().signal);
    await this.waitForSync(this.#stopper.signal).catch(() => undefined);
  }

  /** Calls no handler until it runs again. Resolves when the run has ended. */
  async stop(): Promise<void> {
    this.#stopper.abort();
    await this.#ended;
  }

  #pause(): void {
    this.#state = 'stopped';
    this.#queue.pause();
    for (const listener of this.#listeners) listener.pause();
    for (const wake of this.#waiters) wake();
  }

  #listen(handler: EventHandler<T>, { resyncMs }: { readonly resyncMs?: number } = {}): Registration {
    const listener = new Listener(handler, {
      queue: this.#queue,
      clock: this.#options.clock,
      resyncMs,
      snapshot: () => this.#store.list(),
      onError: (error) => this.#options.onError(error, 'handle'),
      onSynced: () => this.#checkSynced(),
    });
    this.#listeners.add(listener);
    for (const object of this.#store.list()) listener.notify((each) => each.onAdd?.(object, true));
    if (this.#listed) listener.markInitialListEnd();
    if (this.#state === 'running') listener.start();
    return {
      hasSynced: () => listener.hasSynced(),
      remove: () => {
        listener.stop();
        this.#listeners.delete(listener);
        this.#checkSynced();
      },
    };
  }

  #notify(call: (handler: EventHandler<T>) => unknown): void {
    for (const listener of this.#listeners) listener.notify(call);
  }

  #sink(signal: AbortSignal): ReflectorSink<T> {
    return {
      replace: (states) => this.#replace(states, signal),
      upsert: (object) => this.#upsert(object, false),
      remove: (key, last) => this.#remove(key, last, false),
      connect: () => this.#notify((each) => each.onConnect?.()),
      error: (error) => this.#notify((each) => each.onError?.(error)),
    };
  }

  /** Ends early when the signal aborts: the informer may run again by then. */
  async #replace(states: ObjectStates<T>, signal: AbortSignal): Promise<void> {
    await this.#each(states, signal, ([, object]) => object && this.#upsert(object, !this.#listed));
    // Their last state was not seen: the cached one may be older.
    const gone = this.#store.keys().filter((key) => !states.has(key));
    await this.#each(gone, signal, (key) => this.#remove(key, undefined, true));
    if (this.#listed || signal.aborted) return;
    this.#listed = true;
    for (const listener of this.#listeners) listener.markInitialListEnd();
    this.#checkSynced();
  }

  /** Visits all items, and yields to the event loop in between, until the signal aborts. */
  async #each<I>(items: Iterable<I>, signal: AbortSignal, visit: (item: I) => void): Promise<void> {
    let visited = 0;
    for (const item of items) {
      if (signal.aborted) return;
      visit(item);
      if (++visited % SLICE !== 0) continue;
      await eventLoopTurn();
      await this.#queue.untilShort();
    }
  }

  #upsert(object: T, initial: boolean): void {
    const key = keyOf(object);
    const previous = this.#store.get(key);
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      // The object was deleted and created again under the same name, and the deletion was missed.
      this.#remove(key, undefined, true);
      this.#upsert(object, initial);
      return;
    }
    if (this.#options.keep?.(object) === false) {
      // With its previous state, as the API server does it for selectors: handlers know the object by that.
      this.#remove(key, undefined, false);
      return;
    }
    if (previous && previous.metadata.resourceVersion === object.metadata.resourceVersion) return;
    try {
      this.#store.set(object);
    } catch (cause) {
      const error = new Error(`an index function failed on ${key}`, { cause });
      this.#options.onError(error, 'read');
      this.#notify((each) => each.onError?.(error));
      return;
    }
    this.#notify((each) => (previous ? each.onUpdate?.(previous, object) : each.onAdd?.(object, initial)));
  }

  #remove(key: ObjectKey, last: T | undefined, finalStateUnknown: boolean): void {
    const previous = this.#store.delete(key);
    if (!previous) return;
    this.#notify((each) => each.onDelete?.(last ?? previous, finalStateUnknown));
  }

  #checkSynced(): void {
    if (this.#synced || !this.#listed) return;
    if (![...this.#listeners].every((listener) => listener.hasSynced())) return;
    this.#synced = true;
    for (const wake of this.#waiters) wake();
  }
}
