import { retryAfterMs, TransportError } from '../api/api-error.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { decodeObject, type Resource } from '../api/resource.ts';
import type { KubeClient, ListOptions } from '../client/client.ts';
import type { CacheMetrics } from '../prometheus/index.ts';
import { sleep } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import { mayResumeWatch, ShortWatchError, type WatchEvents, watchEvents } from './watch-stream.ts';

export interface ReflectorOptions
  extends Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'pageSize'> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly resource: Resource<KubeObject>;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly metrics?: CacheMetrics;
  /** Called with a failure that is retried. */
  readonly onError: (error: unknown, doing: 'list' | 'watch') => void;
  readonly backoff?: typeof BACKOFF;
  /** A watch without any event for this time is considered dead; default 150 s. A bookmark comes each minute. */
  readonly stallMs?: number;
  /** Limit for one page of a list; default 90 s. The server times out after 60 s. */
  readonly listTimeoutMs?: number;
}

/** All objects by key: what each sink keeps of it, by the index of the sink. */
export type ObjectStates = ReadonlyMap<ObjectKey, readonly unknown[]>;

/** Gets the changes that a reflector sees, in the server's order. */
export interface ReflectorSink {
  /** What it keeps of an object; undefined if it cannot be read. Called as the object arrives, before all others. */
  read(value: unknown, key: ObjectKey): unknown;
  /** Replaces all objects: an object that is not in `states` does not exist. */
  replace(states: ObjectStates, index: number): Promise<void>;
  /** An object was added or has changed. */
  upsert(view: unknown): void;
  /** `last` is the state of the object at its deletion, if it could be read. */
  remove(key: ObjectKey, last: unknown): void;
}

const DEFAULT_LIST_TIMEOUT_MS = 90_000;
const DEFAULT_STALL_MS = 150_000;
/** The server ends a watch after a random time between one and two of these, so that not all watches renew at once. */
const MIN_WATCH_SECONDS = 300;
/** A watch that ends within this time without an event does not count as progress. */
const SHORTEST_WATCH_MS = 1_000;
/**
 * Growing delays between failures. Jitter keeps many clients of one failed server from coming back at once. The numbers
 * are those of client-go's reflector: 0.8 s, doubled, jitter 1.0 (each up to twice as long), reset after 2 min. The
 * limit is 3.2 s. client-go's 30 s protects API servers from thousands of nodes; an operator has few replicas, and
 * would see nothing for a minute after an outage of seconds.
 */
const BACKOFF = { firstMs: 800, maxMs: 3_200 };
/** After this long without a failure, the delays start over. */
const RESET_MS = 120_000;
/** client-go waits for any Retry-After. This limit protects the informer from absurd values. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Gets all objects, then watches from there, and retries forever, for any number of caches. It is client-go's Reflector
 * (tools/cache/reflector.go), with its resourceVersion rules and its delays.
 * - A list is always of the newest state, in pages: the server's cache sends a long one only as a whole (ADR 12).
 * - A watch that ends, breaks or is put off (429, refused, 5xx) is opened again at its last position, without a list.
 * - After `410 Gone`, or data that is not an event, a new list follows.
 */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #sinks: readonly ReflectorSink[];
  readonly #random: () => number;
  /** Undefined before the first list; empty if only the newest state is acceptable. */
  #resourceVersion: string | undefined;
  /** Failures in a row. */
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #wasUnreachable = false;
  #contact: ReturnType<CacheMetrics['started']> | undefined;

  constructor(options: ReflectorOptions, sinks: readonly ReflectorSink[]) {
    this.#options = options;
    this.#sinks = sinks;
    this.#random = options.random ?? Math.random;
  }

  /** The newest resourceVersion seen; empty before the first list, and after the server has rejected it. */
  get lastSyncResourceVersion(): string {
    return this.#resourceVersion ?? '';
  }

  /** Runs until the signal aborts. Never rejects: failures are reported, and retried after a delay. */
  async run(signal: AbortSignal): Promise<void> {
    const { metrics, resource } = this.#options;
    this.#contact = metrics?.started(resource.plural);
    while (!signal.aborted) {
      try {
        await this.#list(signal);
        await this.#watch(signal);
        await this.#pause(undefined, signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#options.onError(error, 'list');
        await this.#pause(error, signal);
      }
    }
    this.#contact?.ended();
  }

  /** The object is split into what the sinks keep of it: a long list is never held as a whole. */
  readonly #read = (value: unknown): [key: ObjectKey, views: readonly unknown[]] => {
    const key = keyOf(decodeObject(value));
    return [key, this.#sinks.map((sink) => sink.read(value, key))];
  };

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector, pageSize } = this.#options;
    const timeoutMs = this.#options.listTimeoutMs ?? DEFAULT_LIST_TIMEOUT_MS;
    const query = { namespace, labelSelector, fieldSelector, pageSize, timeoutMs, signal };
    const { items, resourceVersion } = await client.list(resource, query, this.#read);
    const states: ObjectStates = new Map(items);
    signal.throwIfAborted();
    await Promise.all(this.#sinks.map((sink, index) => sink.replace(states, index)));
    this.#resourceVersion = resourceVersion;
    this.#contact?.heard();
  }

  /** Opens one watch after the other, until a new list is needed. */
  async #watch(signal: AbortSignal): Promise<void> {
    for (let failed = 0; ; ) {
      const progress = { events: 0 };
      const start = this.#options.clock.now();
      try {
        await this.#follow(this.#open(signal), progress);
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

  async #follow(events: WatchEvents, progress: { events: number }): Promise<void> {
    for await (const { type, object: value, resourceVersion } of events) {
      if (type !== 'BOOKMARK') {
        const [key, views] = this.#read(value);
        for (const [index, sink] of this.#sinks.entries())
          if (type === 'DELETED') sink.remove(key, views[index]);
          else sink.upsert(views[index]);
      }
      this.#resourceVersion = resourceVersion;
      progress.events++;
      this.#contact?.heard();
    }
  }

  #open(signal: AbortSignal): WatchEvents {
    const { client, clock, resource, namespace, labelSelector, fieldSelector } = this.#options;
    const query = {
      namespace,
      labelSelector,
      fieldSelector,
      resourceVersion: this.#resourceVersion,
      timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + this.#random())),
    };
    const open = (bounded: AbortSignal) => client.watch(resource, { ...query, signal: bounded });
    return watchEvents(open, clock, this.#options.stallMs ?? DEFAULT_STALL_MS, signal);
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, backoff: { firstMs, maxMs } = BACKOFF } = this.#options;
    const now = clock.now();
    const isUnreachable = error instanceof TransportError;
    // The server is back, but perhaps not ready: an API server that has just started knows no roles, and forbids all.
    if ((this.#wasUnreachable && !isUnreachable) || now - this.#failedAt > RESET_MS) this.#failures = 0;
    this.#wasUnreachable = isUnreachable;
    this.#failedAt = now;
    const backoffMs = Math.min(maxMs, firstMs * 2 ** this.#failures++) * (1 + this.#random());
    const askedMs = Math.min(retryAfterMs(error), MAX_RETRY_AFTER_MS);
    // Rejects only when the signal aborts, which every caller checks next.
    await sleep(clock, Math.max(askedMs, backoffMs), signal).catch(() => undefined);
  }
}
