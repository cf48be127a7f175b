import type { Clock } from '../workqueue/clock.ts';
import { ApiError, apiErrorFrom, isExpired, isTooLargeResourceVersion, TransportError } from './api-error.ts';
import { Backoff } from './backoff.ts';
import type { KubeClient, ListPage } from './client.ts';
import type { KubeObject } from './object.ts';
import type { Resource } from './resource.ts';
import { sleep } from './sleep.ts';
import { narrowWatchEvent, unlessStalled } from './watch-stream.ts';

/** Where a reflector puts what it sees, in the order in which the server made it so. */
export interface ReflectorSink<T> {
  /** The whole truth as of now: what is not in it is gone. */
  replace(objects: readonly T[]): Promise<void>;
  upsert(object: T): void;
  remove(object: T): void;
}

/** Something went wrong and is being mended: for a log line and a counter. */
export type OnReflectorError = (error: unknown, doing: 'list' | 'watch') => void;

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Applied before an object is kept: drop what nobody reads, and memory stays small. */
  readonly transform?: (object: T) => T;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly onError: OnReflectorError;
  /** Silence, bookmarks included, after which a watch is taken for dead; the server sends a bookmark each minute. */
  readonly stallMs?: number;
  readonly pageSize?: number;
}

const DEFAULT_STALL_MS = 150_000;
const DEFAULT_PAGE_SIZE = 500;
/** The server ends a watch at a random moment between one and two of these, so that watches do not all renew at once. */
const MIN_WATCH_SECONDS = 300;
/** A watch that ends within this time without one event was no watch: it does not count as progress. */
const SHORTEST_WATCH_MS = 1_000;
/** Watches that failed in a row, without one event, before a list is tried in their place. */
const MAX_FAILED_WATCHES = 5;

/**
 * Lists, then watches from the list's resourceVersion, and never gives up: client-go's Reflector
 * (tools/cache/reflector.go), its resourceVersion rules and its delays.
 * - The first list may come from the server's cache (`0`); later ones are at least as new as what was last seen;
 *   a resourceVersion that the server no longer or not yet knows is answered by a list of the newest state.
 * - A watch that ends, breaks or is put off (429, refused, 5xx) is opened again where it stood, without a list.
 * - A watch that says `410 Gone`, or something that is no event, means a new list.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #backoff: Backoff;
  readonly #random: () => number;
  /** Undefined until the first list; empty where only the newest state will do. */
  #resourceVersion: string | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff({ clock: options.clock, random: this.#random });
  }

  get lastSyncResourceVersion(): string {
    return this.#resourceVersion ?? '';
  }

  /** Runs until the signal aborts. Never rejects: what goes wrong is reported, waited out and tried again. */
  async run(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { items, resourceVersion } = await this.#list(signal);
        signal.throwIfAborted();
        await sink.replace(items);
        this.#resourceVersion = resourceVersion;
        await this.#watch(sink, signal);
      } catch (error) {
        if (!signal.aborted) this.#options.onError(error, 'list');
      }
      await this.#pause(undefined, signal);
    }
  }

  async #list(signal: AbortSignal): Promise<{ items: readonly T[]; resourceVersion: string }> {
    const from = this.#resourceVersion ?? '0';
    try {
      return await this.#pages(from, signal);
    } catch (error) {
      if (from === '' || !(isExpired(error) || isTooLargeResourceVersion(error))) throw error;
      this.#options.onError(error, 'list');
      return await this.#pages('', signal);
    }
  }

  async #pages(
    resourceVersion: string,
    signal: AbortSignal,
  ): Promise<{ items: T[]; resourceVersion: string }> {
    const { pageSize = DEFAULT_PAGE_SIZE } = this.#options;
    // A list at a given resourceVersion cannot be cut into pages by the server's cache.
    const limit = resourceVersion === '' || resourceVersion === '0' ? pageSize : undefined;
    const items: T[] = [];
    let page = await this.#page({ resourceVersion, limit }, signal);
    this.#collect(page, items);
    while (page.continue !== undefined) {
      try {
        page = await this.#page({ limit, continue: page.continue }, signal);
      } catch (error) {
        if (!isExpired(error)) throw error;
        // The snapshot of the first page is gone (a very slow list): all at once, then.
        this.#options.onError(error, 'list');
        items.length = 0;
        page = await this.#page({ resourceVersion: '' }, signal);
      }
      this.#collect(page, items);
    }
    return { items, resourceVersion: page.resourceVersion };
  }

  #page(
    query: { resourceVersion?: string; limit?: number | undefined; continue?: string },
    signal: AbortSignal,
  ): Promise<ListPage> {
    const { client, resource, namespace, labelSelector, fieldSelector } = this.#options;
    return client.list(resource, { namespace, labelSelector, fieldSelector, signal, ...query });
  }

  #collect(page: ListPage, into: T[]): void {
    for (const item of page.items) into.push(this.#narrow(item));
  }

  #narrow(value: unknown): T {
    const object = this.#options.resource.narrow(value);
    return this.#options.transform?.(object) ?? object;
  }

  /** Watches, and watches again, until a list is needed: returns, or throws what made it so. */
  async #watch(sink: ReflectorSink<T>, signal: AbortSignal): Promise<void> {
    for (let failed = 0; ; ) {
      const progress = { events: 0 };
      const start = this.#options.clock.now();
      try {
        await this.#oneWatch(sink, progress, signal);
        if (progress.events === 0 && this.#options.clock.now() - start < SHORTEST_WATCH_MS) {
          throw new TransportError('the watch ended at once, without an event', 'ESHORTWATCH', undefined);
        }
        failed = 0;
      } catch (error) {
        signal.throwIfAborted();
        this.#options.onError(error, 'watch');
        failed = progress.events > 0 ? 1 : failed + 1;
        if (!mayResume(error, failed)) return;
        await this.#pause(error, signal);
      }
    }
  }

  async #oneWatch(sink: ReflectorSink<T>, progress: { events: number }, signal: AbortSignal): Promise<void> {
    const { client, clock, resource, namespace, labelSelector, fieldSelector } = this.#options;
    const timeoutSeconds = Math.round(MIN_WATCH_SECONDS * (1 + this.#random()));
    const open = (bounded: AbortSignal) =>
      client.watch(resource, {
        namespace,
        labelSelector,
        fieldSelector,
        resourceVersion: this.#resourceVersion,
        timeoutSeconds,
        signal: bounded,
      });
    for await (const raw of unlessStalled(open, this.#options.stallMs ?? DEFAULT_STALL_MS, clock, signal)) {
      signal.throwIfAborted();
      const event = narrowWatchEvent(raw);
      if (event.type === 'ERROR') throw apiErrorFrom(500, event.object);
      if (event.type === 'DELETED') sink.remove(this.#narrow(event.object));
      else if (event.type !== 'BOOKMARK') sink.upsert(this.#narrow(event.object));
      this.#resourceVersion = event.resourceVersion;
      progress.events++;
    }
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    // Rejects only when the signal aborts, which every caller looks at next.
    await sleep(this.#options.clock, Math.max(asked, this.#backoff.next()), signal).catch(() => undefined);
  }
}

/** Whether a failed watch can be opened again at the resourceVersion where it stood. */
function mayResume(error: unknown, failedInARow: number): boolean {
  if (error instanceof ApiError && error.status === 429) return true;
  if (error instanceof TransportError && error.code === 'ECONNREFUSED') return true;
  if (failedInARow > MAX_FAILED_WATCHES || isExpired(error)) return false;
  if (error instanceof TransportError) return error.code !== 'ESHORTWATCH';
  return error instanceof ApiError && error.status >= 500 && !isTooLargeResourceVersion(error);
}
