import { type EventHandler, Listener } from './listener.ts';
import { type KubeObject, keyOf, type ObjectKey } from './object.ts';
import { Reflector, type ReflectorOptions, type ReflectorSink } from './reflector.ts';
import { type IndexFunction, type Lister, Store } from './store.ts';

export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'onError'> {
  readonly indexers?: Readonly<Record<string, IndexFunction<T>>>;
  readonly onError: (error: unknown, doing: 'list' | 'watch' | 'handle') => void;
}

/** A handler's place at the informer. */
export interface Registration {
  /** The initial list has been handed to this handler, all of it. */
  hasSynced(): boolean;
  /** Nothing more reaches the handler. */
  remove(): void;
}

/**
 * A shared informer: one list and watch, one cache, any number of handlers (client-go's SharedIndexInformer).
 * Handlers are told of changes in order, each by itself: one that throws or joins late hurts no other.
 */
export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  readonly #reflector: Reflector<T>;
  readonly #store: Store<T>;
  readonly #listeners = new Set<Listener<T>>();
  readonly #syncWaiters = new Set<() => void>();
  #state: 'new' | 'running' | 'stopped' = 'new';
  #listed = false;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#reflector = new Reflector(options);
    this.#store = new Store(options.indexers);
  }

  get lister(): Lister<T> {
    return this.#store;
  }

  /** The newest resourceVersion seen; empty before the first list. */
  get lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion;
  }

  /** The first list is in the cache and handed to every handler that was there for it. */
  hasSynced(): boolean {
    return this.#listed && [...this.#listeners].every((listener) => listener.hasSynced());
  }

  /** Resolves once `hasSynced()`; rejects with the signal's reason when that aborts first. */
  waitForSync(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#syncWaiters.delete(check);
        reject(signal.reason);
      };
      const check = () => {
        if (!this.hasSynced()) return;
        this.#syncWaiters.delete(check);
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#syncWaiters.add(check);
      check();
    });
  }

  /**
   * Adds a handler, which first gets every cached object as an add. With `resyncMs` it gets, that often, every cached
   * object once more as an update to itself: what a lost or failed piece of work is repaired by.
   */
  addEventHandler(handler: EventHandler<T>, { resyncMs }: { readonly resyncMs?: number } = {}): Registration {
    const listener = new Listener(handler, {
      clock: this.#options.clock,
      resyncMs,
      snapshot: () => this.#store.list(),
      onError: (error) => this.#options.onError(error, 'handle'),
      onSynced: () => this.#notifyWaiters(),
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
        this.#notifyWaiters();
      },
    };
  }

  /** Lists and watches until the signal aborts; from then on no handler is called. Runs once. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'new') throw new Error('an informer runs once: make a new one');
    this.#state = 'running';
    for (const listener of this.#listeners) listener.start();
    const stop = () => {
      this.#state = 'stopped';
      for (const listener of this.#listeners) listener.stop();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    await this.#reflector.run(this.#sink(), signal);
  }

  #sink(): ReflectorSink<T> {
    return {
      replace: (objects) => this.#replace(objects),
      upsert: (object) => this.#upsert(object, false),
      remove: (object) => this.#remove(keyOf(object), object, false),
    };
  }

  async #replace(objects: readonly T[]): Promise<void> {
    const present = new Set<ObjectKey>();
    for (const [i, object] of objects.entries()) {
      present.add(keyOf(object));
      this.#upsert(object, !this.#listed);
      if (i % SLICE === SLICE - 1) await nextTurn();
      if (this.#state === 'stopped') return;
    }
    for (const key of this.#store.keys()) {
      // Its last state was never seen: what is cached may be older.
      if (!present.has(key)) this.#remove(key, undefined, true);
    }
    if (this.#listed) return;
    this.#listed = true;
    for (const listener of this.#listeners) listener.markInitialListEnd();
    this.#notifyWaiters();
  }

  #upsert(object: T, initial: boolean): void {
    const previous = this.#store.get(keyOf(object));
    if (previous && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and made again under the same name, and the deletion was missed: two objects, two lives.
      this.#remove(keyOf(object), undefined, true);
      this.#upsert(object, initial);
      return;
    }
    if (previous && previous.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#store.set(object);
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

  #notifyWaiters(): void {
    for (const check of [...this.#syncWaiters]) check();
  }
}

/** Objects taken into the cache before the event loop gets its turn. */
const SLICE = 1_000;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
