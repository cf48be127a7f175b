import { isExpired, TransportError } from '../api/api-error.ts';
import type { KubeObject, ObjectKey } from '../api/object.ts';
import type { ListPage } from '../api/response.ts';
import { objectReader, type ReadObject } from './object-reader.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import type { WatchEvents } from './watch-stream.ts';

/** All objects by key; undefined for an object that exists but could not be read. */
export interface ObjectStates<T> extends Iterable<readonly [ObjectKey, T | undefined]> {
  has(key: ObjectKey): boolean;
}

/** All objects as of one resourceVersion. */
export interface Snapshot<T> {
  readonly states: ObjectStates<T>;
  readonly resourceVersion: string;
}

/** The query for one page. */
interface PageQuery {
  readonly resourceVersion?: string;
  readonly limit?: number | undefined;
  readonly continue?: string;
}

const DEFAULT_PAGE_SIZE = 500;
const DEFAULT_TIMEOUT_MS = 90_000;

/** Takes snapshots by lists in pages (client-go's tools/pager, with the page rules of its reflector). */
export class PagedList<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #read: ReadObject<T>;
  /** The server has no cache for this resource: it split a list that a cache would return whole. */
  #uncached = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#read = objectReader(options);
  }

  /** All objects as of `from` or later: `0` means the state of the server's cache, empty the newest state. */
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
        // The snapshot of the first page has expired (a very slow list): request all objects at once.
        this.#options.onError(error, 'list');
        states.clear();
        page = await this.#page({ resourceVersion: from }, states, signal);
      }
    }
    return { states, resourceVersion: page.resourceVersion };
  }

  #limit(from: string): number | undefined {
    // The server's cache returns a list of at least a resourceVersion only as a whole.
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
 * Takes a snapshot from a watch that sends the present objects first (KEP-3157), and leaves the watch open.
 * @throws TypeError if the server does not support this and sends plain events; what the watch throws.
 */
export async function snapshotByWatch<T>(events: WatchEvents, read: ReadObject<T>): Promise<Snapshot<T>> {
  const states = new Map<ObjectKey, T | undefined>();
  for (;;) {
    const { value: event } = await events.next();
    if (!event) throw new TransportError('the watch ended during its initial events', 'ECUT', undefined);
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
