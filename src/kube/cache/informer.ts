import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { abortable } from '../util/linked-abort.ts';
import { type EventHandler, Listener } from './listener.ts';
import { type ObjectSource, Reflector, type ReflectorSink } from './reflector.ts';
import type { OnReflectorError, ReflectorOptions } from './reflector-options.ts';
import type { ObjectStates } from './snapshot.ts';
import { type IndexFunction, type Lister, Store } from './store.ts';

export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'onError'> {
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  /** Which objects there are for the cache and its handlers, where no selector of the API says so; all unless given. */
  readonly keep?: (object: T) => boolean;
  /** Where the objects come from; a reflector of its own unless given. */
  readonly source?: ObjectSource<T>;
  /** As a reflector's; `handle` is what a handler threw. */
  readonly onError: (error: unknown, doing: Parameters<OnReflectorError>[1] | 'handle') => void;
}

/** A handler's place at the informer. */
export interface Registration {
  /** The initial list has been handed to this handler, all of it. */
  hasSynced(): boolean;
  /** Nothing more reaches the handler. */
  remove(): void;
}

/** Objects taken into the cache before the event loop gets its turn. */
const SLICE = 1_000;

/**
 * A shared informer: one list and watch, one cache, any number of handlers (client-go's SharedIndexInformer).
 * Handlers are told of changes in order, each by itself: one that throws or joins late hurts no other.
 */
export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  readonly #source: ObjectSource<T>;
  readonly #store: Store<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #syncWaiters = new Set<SyncWaiter>();
  #state: 'new' | 'running' | 'stopped' = 'new';
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
   * @throws Error where another function has the name.
   */
  addIndexers(indexers: Readonly<Record<string, IndexFunction<T>>>): void {
    this.#store.addIndexers(indexers);
  }

  /** The newest resourceVersion seen; empty before the first list, and while it is of no use to the server. */
  get lastSyncResourceVersion(): string {
    return this.#source.lastSyncResourceVersion;
  }

  /** The first list is in the cache and was handed to every handler that was there by then. Once true, always. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Resolves once `hasSynced()`; rejects when the signal aborts first, with its reason, or when the informer stops. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#synced) return;
    if (this.#state === 'stopped') throw stoppedUnsynced();
    let waiter: SyncWaiter | undefined;
    const synced = new Promise<void>((resolve, reject) => {
      waiter = { resolve, reject };
      this.#syncWaiters.add(waiter);
    });
    await abortable(synced, signal).finally(() => waiter && this.#syncWaiters.delete(waiter));
  }

  /**
   * Adds a handler, which first gets every cached object as an add. With `resyncMs` it gets, that often, every cached
   * object once more as an update to itself: what a lost or failed piece of work is repaired by.
   * @throws Error when the informer has stopped.
   */
  addEventHandler(handler: EventHandler<T>, { resyncMs }: { readonly resyncMs?: number } = {}): Registration {
    if (this.#state === 'stopped')
      throw new Error('the informer has stopped: its handlers hear nothing more');
    const listener = new Listener(handler, {
      clock: this.#options.clock,
      resyncMs,
      snapshot: () => this.#store.list(),
      onError: (error) => this.#options.onError(error, 'handle'),
      onSynced: () => this.#checkSynced(),
    });
    this.#listeners.add(listener);
    for (const object of this.#store.list()) listener.add(object, true);
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

  /** Lists and watches until the signal aborts; from then on no handler is called. Runs once. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'new') throw new Error('an informer runs once: make a new one');
    this.#state = 'running';
    for (const listener of this.#listeners) listener.start();
    if (signal.aborted) this.#stop();
    else signal.addEventListener('abort', () => this.#stop(), { once: true });
    await this.#source.run(this.#sink(), signal);
  }

  #stop(): void {
    this.#state = 'stopped';
    for (const listener of this.#listeners) listener.stop();
    for (const { reject } of this.#syncWaiters) reject(stoppedUnsynced());
  }

  #sink(): ReflectorSink<T> {
    return {
      replace: (states) => this.#replace(states),
      upsert: (object) => this.#upsert(object, false),
      remove: (key, last) => this.#remove(key, last, false),
    };
  }

  async #replace(states: ObjectStates<T>): Promise<void> {
    await this.#each(states.values(), (object) => object && this.#upsert(object, !this.#listed));
    // Their last state was never seen: what is cached may be older.
    const gone = this.#store.keys().filter((key) => !states.has(key));
    await this.#each(gone, (key) => this.#remove(key, undefined, true));
    if (this.#listed || this.#state === 'stopped') return;
    this.#listed = true;
    for (const listener of this.#listeners) listener.markInitialListEnd();
    this.#checkSynced();
  }

  /** Visits all items, with turns of the event loop in between, in which others are served; fewer when stopped. */
  async #each<I>(items: Iterable<I>, visit: (item: I) => void): Promise<void> {
    let visited = 0;
    for (const item of items) {
      if (this.#state === 'stopped') return;
      visit(item);
      if (++visited % SLICE === 0) await eventLoopTurn();
    }
  }

  #upsert(object: T, initial: boolean): void {
    const key = keyOf(object);
    const previous = this.#store.get(key);
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and made again under the same name, and the deletion was missed: two objects, two lives.
      this.#remove(key, undefined, true);
      this.#upsert(object, initial);
      return;
    }
    if (this.#options.keep?.(object) === false) {
      this.#remove(key, object, false);
      return;
    }
    if (previous && previous.metadata.resourceVersion === object.metadata.resourceVersion) return;
    try {
      this.#store.set(object);
    } catch (cause) {
      this.#options.onError(new Error(`an index function failed on ${key}`, { cause }), 'read');
      return;
    }
    for (const listener of this.#listeners) {
      if (previous) listener.update(previous, object);
      else listener.add(object, initial);
    }
  }

  #remove(key: ObjectKey, last: T | undefined, finalStateUnknown: boolean): void {
    const previous = this.#store.delete(key);
    if (!previous) return;
    for (const listener of this.#listeners) listener.delete(last ?? previous, finalStateUnknown);
  }

  #checkSynced(): void {
    if (this.#synced || !this.#listed) return;
    if (![...this.#listeners].every((listener) => listener.hasSynced())) return;
    this.#synced = true;
    for (const { resolve } of this.#syncWaiters) resolve();
  }
}

interface SyncWaiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

function stoppedUnsynced(): Error {
  return new Error('the informer stopped before it had synced');
}
