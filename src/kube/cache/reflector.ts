import { isInvalid, isNotFound, retryAfterMs, TransportError } from '../api/api-error.ts';
import type { KubeObject, ObjectKey } from '../api/object.ts';
import { Backoff } from '../util/backoff.ts';
import { sleep } from '../util/sleep.ts';
import type { CacheContact } from './cache-metrics.ts';
import { objectReader, type ReadObject } from './object-reader.ts';
import type { OnReflectorError, ReflectorOptions } from './reflector-options.ts';
import { type ObjectStates, PagedList, type Snapshot, snapshotByWatch } from './snapshot.ts';
import { isPutOff, isUnavailable, mayResumeWatch, ShortWatchError } from './watch-errors.ts';
import { type WatchEvents, watchEvents } from './watch-stream.ts';

/** Gets the changes that a reflector sees, in the server's order. */
export interface ReflectorSink<T> {
  /** Replaces all objects: an object that is not in `states` does not exist. */
  replace(states: ObjectStates<T>): Promise<void>;
  upsert(object: T): void;
  /** `last` is the state of the object at its deletion, if it could be read. */
  remove(key: ObjectKey, last: T | undefined): void;
  /** A watch is about to open, the first one or a later one. */
  connect(): void;
  /** A request failed, and is retried. */
  error(error: unknown): void;
}

/** Delivers all objects, and then each change, until the signal aborts. A Reflector is one. */
export interface ObjectSource<T> {
  /** The newest resourceVersion seen; empty before the first list, and after the server has rejected it. */
  readonly lastSyncResourceVersion: string;
  run(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void>;
}

const DEFAULT_STALL_MS = 150_000;
/** The server ends a watch after a random time between one and two of these, so that not all watches renew at once. */
const MIN_WATCH_SECONDS = 300;
/** A watch that ends within this time without an event does not count as progress. */
const SHORTEST_WATCH_MS = 1_000;
/** A server that refused the stream may be upgraded. kubectl caches discovery for ten minutes, too. */
const ASK_FOR_STREAM_AGAIN_MS = 600_000;
/** client-go waits for any Retry-After. This limit protects the informer from absurd values. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Gets all objects, then watches from there, and retries forever. It is client-go's Reflector
 * (tools/cache/reflector.go), with its resourceVersion rules and its delays.
 * - The first list may come from the server's cache (`0`). Later lists are at least as new as the last seen state. If
 *   the server does not have a resourceVersion, no longer or not yet, a list of the newest state follows.
 * - A watch that ends, breaks or is put off (429, refused, 5xx) is opened again at its last position, without a list.
 * - After `410 Gone`, or data that is not an event, a new list follows.
 */
export class Reflector<T extends KubeObject> implements ObjectSource<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #read: ReadObject<T>;
  readonly #pagedList: PagedList<T>;
  /** Undefined before the first list; empty if only the newest state is acceptable. */
  #resourceVersion: string | undefined;
  /** From this time on, in the clock's milliseconds, the state is requested as a stream. */
  #streamFrom: number;
  #wasUnreachable = false;
  #contact: CacheContact | undefined;
  #sink: ReflectorSink<T> | undefined;

  constructor(options: ReflectorOptions<T>) {
    const onError: OnReflectorError = (error, doing) => {
      options.onError(error, doing);
      this.#sink?.error(error);
    };
    this.#options = { ...options, onError };
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff({ clock: options.clock, random: this.#random, ...options.backoff });
    this.#read = objectReader(this.#options);
    this.#pagedList = new PagedList(this.#options);
    this.#streamFrom = (options.watchList ?? true) ? 0 : Infinity;
  }

  get lastSyncResourceVersion(): string {
    return this.#resourceVersion ?? '';
  }

  /** Runs until the signal aborts. Never rejects: failures are reported, and retried after a delay. */
  async run(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    const { client, resource } = this.#options;
    this.#sink = sink;
    this.#contact = client.cacheMetrics?.started(resource.plural);
    await this.#listAndWatch(sink, signal);
    this.#contact?.ended();
  }

  async #listAndWatch(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const events = await this.#stateByWatch(sink, signal);
        if (!events) await this.#stateByList(sink, signal);
        await this.#watch(events, sink, signal);
        await this.#pause(undefined, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#options.onError(error, 'list');
        await this.#pause(error, signal);
      }
    }
  }

  /** Gets all objects as the first events of a watch, and resolves with that watch; undefined if a list is needed. */
  async #stateByWatch(sink: ReflectorSink<T>, signal: AbortSignal): Promise<WatchEvents | undefined> {
    const { clock } = this.#options;
    if (clock.now() < this.#streamFrom) return undefined;
    const events = this.#open(true, signal);
    try {
      await this.#take(await snapshotByWatch(events, this.#read), sink, signal);
      return events;
    } catch (error) {
      await events.return();
      if (signal.aborted || isPutOff(error) || isNotFound(error)) throw error;
      if (isInvalid(error)) {
        // A server without WatchList, or with it turned off, refuses the parameter. The list finds any other fault.
        this.#streamFrom = clock.now() + ASK_FOR_STREAM_AGAIN_MS;
        return undefined;
      }
      this.#options.onError(error, 'list');
      if (isUnavailable(error)) this.#resourceVersion = '';
      return undefined;
    }
  }

  async #stateByList(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    const from = this.#resourceVersion ?? '0';
    try {
      await this.#take(await this.#pagedList.snapshot(from, signal), sink, signal);
    } catch (error) {
      if (from === '' || !isUnavailable(error)) throw error;
      this.#options.onError(error, 'list');
      this.#resourceVersion = '';
      await this.#take(await this.#pagedList.snapshot('', signal), sink, signal);
    }
  }

  async #take(snapshot: Snapshot<T>, sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await sink.replace(snapshot.states);
    this.#resourceVersion = snapshot.resourceVersion;
    this.#contact?.heard();
  }

  /** Opens one watch after the other, until a new list is needed. */
  async #watch(first: WatchEvents | undefined, sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    let events = first;
    for (let failed = 0; ; events = undefined) {
      const progress = { events: 0 };
      const start = this.#options.clock.now();
      try {
        await this.#follow(events ?? this.#open(false, signal), sink, progress);
        if (progress.events === 0 && this.#options.clock.now() - start < SHORTEST_WATCH_MS) {
          throw new ShortWatchError();
        }
        failed = 0;
      } catch (error) {
        signal.throwIfAborted();
        this.#options.onError(error, 'watch');
        failed = progress.events > 0 ? 1 : failed + 1;
        if (!mayResumeWatch(error, failed)) return;
        await this.#pause(error, signal);
      }
    }
  }

  async #follow(events: WatchEvents, sink: ReflectorSink<T>, progress: { events: number }): Promise<void> {
    for await (const { type, object: value, resourceVersion } of events) {
      if (type !== 'BOOKMARK') {
        const [key, object] = this.#read(value);
        if (type === 'DELETED') sink.remove(key, object);
        else if (object) sink.upsert(object);
      }
      this.#resourceVersion = resourceVersion;
      progress.events++;
      this.#contact?.heard();
    }
  }

  #open(sendInitialEvents: boolean, signal: AbortSignal): WatchEvents {
    const { client, clock, resource, namespace, labelSelector, fieldSelector, stallMs } = this.#options;
    this.#sink?.connect();
    const query = {
      namespace,
      labelSelector,
      fieldSelector,
      resourceVersion: this.#resourceVersion,
      timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + this.#random())),
      ...(sendInitialEvents && { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' as const }),
    };
    return watchEvents((bounded) => client.watch(resource, { ...query, signal: bounded }), {
      clock,
      stallMs: stallMs ?? DEFAULT_STALL_MS,
      signal,
    });
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const isUnreachable = error instanceof TransportError;
    // The server is back, but perhaps not ready: an API server that has just started knows no roles, and forbids all.
    if (this.#wasUnreachable && !isUnreachable) this.#backoff.reset();
    this.#wasUnreachable = isUnreachable;
    const askedMs = Math.min(retryAfterMs(error), MAX_RETRY_AFTER_MS);
    const delay = Math.max(askedMs, this.#backoff.next());
    // Rejects only when the signal aborts, which every caller checks next.
    await sleep(this.#options.clock, delay, signal).catch(() => undefined);
  }
}
