import { isExpired, TransportError } from '../api/api-error.ts';
import type { KubeObject, ObjectKey } from '../api/object.ts';
import type { ListPage } from '../api/response.ts';
import { objectReader, type ReadObject } from './object-reader.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import type { WatchEvents } from './watch-stream.ts';

/** All objects by key. Undefined: the object is there, but could not be read. */
export type ObjectStates<T> = ReadonlyMap<ObjectKey, T | undefined>;

/** All objects as of one resourceVersion. */
export interface Snapshot<T> {
  readonly states: ObjectStates<T>;
  readonly resourceVersion: string;
}

/** A page as it is asked for. */
interface PageQuery {
  readonly resourceVersion?: string;
  readonly limit?: number | undefined;
  readonly continue?: string;
}

const DEFAULT_PAGE_SIZE = 500;
const DEFAULT_TIMEOUT_MS = 90_000;

/** Takes snapshots by listing, page by page (client-go's tools/pager, and when its reflector asks for pages). */
export class PagedList<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #read: ReadObject<T>;
  /** The server cut a list that its cache would have given whole: it has none for this resource. */
  #uncached = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#read = objectReader(options);
  }

  /** All objects as of `from` or later: `0` is whatever the server's cache has, empty the newest state. */
  async snapshot(from: string, signal: AbortSignal): Promise<Snapshot<T>> {
    const limit = this.#limit(from);
    const states = new Map<ObjectKey, T | undefined>();
    let page = await this.#page({ resourceVersion: from, limit }, states, signal);
    if (from === '0' && page.continue !== undefined) this.#uncached = true;
    while (page.continue !== undefined) {
      try {
        page = await this.#page({ limit, continue: page.continue }, states, signal);
      } catch (error) {
        if (!isExpired(error)) throw error;
        // What the first page showed is no longer kept (a very slow list): all at once, then.
        this.#options.onError(error, 'list');
        states.clear();
        page = await this.#page({ resourceVersion: from }, states, signal);
      }
    }
    return { states, resourceVersion: page.resourceVersion };
  }

  #limit(from: string): number | undefined {
    // The server's cache gives a list as new as a certain resourceVersion only whole.
    const paged = from === '' || from === '0' || this.#uncached;
    return this.#options.pageSize ?? (paged ? DEFAULT_PAGE_SIZE : undefined);
  }

  async #page(
    query: PageQuery,
    states: Map<ObjectKey, T | undefined>,
    signal: AbortSignal,
  ): Promise<ListPage<unknown>> {
    const { client, resource, namespace, labelSelector, fieldSelector } = this.#options;
    const timeoutMs = this.#options.listTimeoutMs ?? DEFAULT_TIMEOUT_MS;
    const scope = { namespace, labelSelector, fieldSelector };
    const page = await client.list(resource, { ...scope, ...query, timeoutMs, signal }, this.#read);
    for (const [key, object] of page.items) states.set(key, object);
    return page;
  }
}

/**
 * Takes a snapshot from a watch that sends the present objects first (KEP-3157); the watch is left open after it.
 * @throws TypeError where the server knows nothing of that and sends plain events; what the watch throws.
 */
export async function snapshotByWatch<T>(events: WatchEvents, read: ReadObject<T>): Promise<Snapshot<T>> {
  const states = new Map<ObjectKey, T | undefined>();
  for (;;) {
    const { value: event } = await events.next();
    if (!event) throw new TransportError('the watch ended within its initial events', 'ECUT', undefined);
    const { type, object: value, resourceVersion, endsInitialEvents } = event;
    if (type === 'BOOKMARK') {
      if (!endsInitialEvents) throw new TypeError('expected the initial events to end before any bookmark');
      return { states, resourceVersion };
    }
    const [key, object] = read(value);
    if (type === 'DELETED') states.delete(key);
    else states.set(key, object);
  }
}
