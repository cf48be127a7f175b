import type { Operation } from 'fast-json-patch';
import type { Clock } from '../workqueue/clock.ts';
import { ApiError, apiErrorFrom, isTooLargeResourceVersion, TransportError } from './api-error.ts';
import { jsonLines } from './json-lines.ts';
import type { KubeObject } from './object.ts';
import { type Resource, resourcePath } from './resource.ts';
import { sleep } from './sleep.ts';
import type { Method, Transport, TransportResponse } from './transport.ts';

export interface ObjectRef {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bound of one attempt, from asking to the last byte, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly subresource?: string;
}

export interface ListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

/** One page, its items not yet narrowed: who reads them decides what a bad one means. */
export interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  /** Token of the next page; undefined on the last one. */
  readonly continue: string | undefined;
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue' | 'timeoutMs'> {
  /** After how many seconds the server ends the watch by itself. */
  readonly timeoutSeconds: number;
}

export interface ClientMetrics {
  /** An attempt ended: its HTTP status, or `<error>` where none came (client-go's rest_client_requests_total). */
  requestFinished(method: Method, code: string, seconds: number): void;
}

export interface ClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics?: ClientMetrics;
  /** Default bound of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Gives way to others: resolves when the next request may be sent. None: the server's own fairness (APF) decides. */
  readonly waitTurn?: (signal: AbortSignal | undefined) => Promise<void>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_ATTEMPTS = 4;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5_000;

/**
 * A dynamic client, as client-go's: any resource, objects as they are on the wire. Every method rejects with an
 * {@link ApiError} for what the server refused and a {@link TransportError} for what never reached it or was not
 * answered. What is safe to send again is, a few times: see {@link retryDelay}.
 */
export class KubeClient {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #metrics: ClientMetrics | undefined;
  readonly #timeoutMs: number;
  readonly #waitTurn: ClientOptions['waitTurn'];

  constructor({ transport, clock, metrics, timeoutMs = DEFAULT_TIMEOUT_MS, waitTurn }: ClientOptions) {
    this.#transport = transport;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#timeoutMs = timeoutMs;
    this.#waitTurn = waitTurn;
  }

  async get<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: CallOptions = {},
  ): Promise<T> {
    return resource.narrow(await this.request('GET', resourcePath(resource, ref), options));
  }

  /** POST: fails with `isAlreadyExists` where there is one. The namespace is the object's own. */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: { readonly metadata: { readonly namespace?: string | undefined } },
    { subresource, ...options }: WriteOptions = {},
  ): Promise<T> {
    const path = resourcePath(resource, { namespace: object.metadata.namespace }, subresource);
    return resource.narrow(await this.request('POST', path, { ...write(options), body: object }));
  }

  /** JSON patch (RFC 6902); a failed `test` is 422. */
  jsonPatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    operations: readonly Operation[],
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch(resource, ref, 'application/json-patch+json', operations, options);
  }

  /** JSON merge patch (RFC 7396); with `metadata.resourceVersion` in it, 409 when somebody wrote in between. */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch(resource, ref, 'application/merge-patch+json', patch, options);
  }

  /** Server-side apply: the object holds the fields that this manager states, and no other. */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    object: unknown,
    options: WriteOptions & { readonly fieldManager: string; readonly force?: boolean },
  ): Promise<T> {
    // JSON is YAML: no encoder is needed.
    return this.#patch(resource, ref, 'application/apply-patch+yaml', object, options, {
      force: options.force,
    });
  }

  async delete(
    resource: Resource<KubeObject>,
    ref: ObjectRef,
    options: CallOptions & {
      readonly preconditions?: {
        readonly uid?: string | undefined;
        readonly resourceVersion?: string | undefined;
      };
      readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
    } = {},
  ): Promise<void> {
    const { preconditions, propagationPolicy, ...call } = options;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy };
    await this.request('DELETE', resourcePath(resource, ref), { ...call, body });
  }

  /** One page of a list. */
  async list(resource: Resource<KubeObject>, options: ListOptions): Promise<ListPage> {
    const { namespace, signal, timeoutMs, ...query } = options;
    const path = resourcePath(resource, { namespace });
    return narrowList(await this.request('GET', path, { signal, ...(timeoutMs && { timeoutMs }), query }));
  }

  /**
   * Opens a watch and yields its events as they are on the wire, bookmarks too, until the server ends it (the
   * generator returns), the connection breaks (it throws) or the signal aborts (it throws the signal's reason).
   */
  async *watch(
    resource: Resource<KubeObject>,
    options: WatchOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    const { namespace, signal = new AbortController().signal, ...query } = options;
    const path = withQuery(resourcePath(resource, { namespace }), {
      ...query,
      watch: true,
      allowWatchBookmarks: true,
    });
    const response = await this.#measured('GET', () =>
      this.#transport.send({ method: 'GET', path, headers: JSON_HEADERS, signal, streaming: true }),
    );
    try {
      if (response.status !== 200) throw await errorOf(response);
      yield* jsonLines(response.body);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Error && 'code' in error && !(error instanceof TransportError)
        ? new TransportError(`watch ${path.split('?')[0]}: ${error.message}`, String(error.code), error)
        : error;
    } finally {
      response.body.destroy();
    }
  }

  /** One call of the API by its path; the parsed body. For what has no {@link Resource}, such as `/version`. */
  async request(
    method: Method,
    path: string,
    { query, body, contentType, signal, timeoutMs = this.#timeoutMs }: RawCall = {},
  ): Promise<unknown> {
    const headers = {
      ...JSON_HEADERS,
      ...(body === undefined ? {} : { 'Content-Type': contentType ?? JSON_TYPE }),
    };
    const request = {
      method,
      path: withQuery(path, query),
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    for (let attempt = 1; ; attempt++) {
      await this.#waitTurn?.(signal);
      try {
        return await withDeadline(signal, timeoutMs, `${method} ${path}`, (bounded) =>
          this.#measured(method, () => this.#transport.send({ ...request, signal: bounded })).then(parsed),
        );
      } catch (error) {
        const delay = retryDelay(method, error, attempt);
        if (delay === undefined) throw error;
        await sleep(this.#clock, delay, signal);
      }
    }
  }

  #patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    contentType: string,
    body: unknown,
    { subresource, ...options }: WriteOptions,
    query?: Query,
  ): Promise<T> {
    const call = write(options);
    const path = resourcePath(resource, ref, subresource);
    return this.request('PATCH', path, {
      ...call,
      query: { ...call.query, ...query },
      body,
      contentType,
    }).then((value) => resource.narrow(value));
  }

  async #measured(method: Method, send: () => Promise<TransportResponse>): Promise<TransportResponse> {
    const start = this.#clock.now();
    let code = '<error>';
    try {
      const response = await send();
      code = String(response.status);
      return response;
    } finally {
      this.#metrics?.requestFinished(method, code, (this.#clock.now() - start) / 1000);
    }
  }
}

interface RawCall extends CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
}

const JSON_TYPE = 'application/json';
const JSON_HEADERS = { Accept: JSON_TYPE, 'User-Agent': 'envoy-initializer' };

/** The connection ended under the request, often a kept one that the server had just closed. */
const CUT_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ECONNABORTED']);

/**
 * How long to wait before a failed attempt is made again, or undefined where that is not ours to decide.
 * As client-go (rest/with_retry.go): what the server put off (429, 5xx with Retry-After) was not done, so any verb
 * may be repeated; an unanswered request may have been done, so only a read is.
 */
export function retryDelay(method: Method, error: unknown, attempt: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const backoff = Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS);
  if (error instanceof ApiError) {
    // The newest state can be listed at once: no use waiting for the server to catch up.
    if (isTooLargeResourceVersion(error)) return undefined;
    const putOff = error.status === 429 || (error.status >= 500 && error.retryAfterMs !== undefined);
    return putOff ? Math.min(Math.max(error.retryAfterMs ?? 0, backoff), MAX_RETRY_MS) : undefined;
  }
  if (!(error instanceof TransportError)) return undefined;
  const neverSent = error.code === 'ECONNREFUSED';
  return neverSent || (method === 'GET' && CUT_CODES.has(error.code)) ? backoff : undefined;
}

function write({ dryRun, fieldManager, signal, timeoutMs }: WriteOptions): RawCall & { query: Query } {
  return {
    signal,
    ...(timeoutMs && { timeoutMs }),
    query: { dryRun: dryRun ? 'All' : undefined, fieldManager },
  };
}

function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

async function parsed(response: TransportResponse): Promise<unknown> {
  if (response.status < 200 || response.status > 299) throw await errorOf(response);
  const text = await response.body.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(`expected JSON, got ${JSON.stringify(text.slice(0, 80))}`, 'EBADBODY', cause);
  }
}

async function errorOf(response: TransportResponse): Promise<ApiError> {
  const text = await response.body.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's error page: quoted as it is.
  }
  return apiErrorFrom(response.status, body, response.header('retry-after'));
}

function narrowList(value: unknown): ListPage {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) {
    throw new TypeError('expected a list, got an object without metadata');
  }
  const items = 'items' in value ? (value.items ?? []) : [];
  const metadata: unknown = value.metadata;
  if (!Array.isArray(items) || typeof metadata !== 'object' || metadata === null) {
    throw new TypeError('expected a list, got no array of items');
  }
  const resourceVersion = 'resourceVersion' in metadata ? metadata.resourceVersion : undefined;
  const token = 'continue' in metadata ? metadata.continue : undefined;
  if (typeof resourceVersion !== 'string')
    throw new TypeError('expected a list with a metadata.resourceVersion');
  return { items, resourceVersion, continue: typeof token === 'string' && token !== '' ? token : undefined };
}

/** Runs `send` under a signal that aborts with the caller's, or when the time is up. */
async function withDeadline<R>(
  outer: AbortSignal | undefined,
  timeoutMs: number,
  what: string,
  send: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  outer?.throwIfAborted();
  // Not AbortSignal.any: it keeps an entry in the long-lived outer signal for each request.
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer?.reason);
  const timer = setTimeout(() => {
    controller.abort(new TransportError(`${what}: no answer within ${timeoutMs} ms`, 'ETIMEDOUT', undefined));
  }, timeoutMs);
  outer?.addEventListener('abort', onAbort, { once: true });
  try {
    return await send(controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error instanceof Error &&
      !(error instanceof ApiError) &&
      !(error instanceof TransportError) &&
      'code' in error
      ? new TransportError(`${what}: ${error.message}`, String(error.code), error)
      : error;
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', onAbort);
  }
}
