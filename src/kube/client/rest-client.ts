import {
  ApiError,
  asTransportError,
  isRefused,
  isTooLargeResourceVersion,
  TransportError,
} from '../api/api-error.ts';
import { bodyOf, errorOf, jsonLines } from '../api/response.ts';
import type { ClientMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { sleep, withTimeout } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { Method, Transport, TransportRequest, TransportResponse } from './transport.ts';

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Limit for one attempt, from the request to the last byte, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** The options of a call by path. */
export interface RequestOptions extends CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
}

export interface ClientOptions {
  readonly transport: Pick<Transport, 'send'>;
  readonly clock: Clock;
  /** Gets a line for each request. */
  readonly log?: Logger;
  readonly metrics?: ClientMetrics;
  /** Default limit for one attempt, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /**
   * Throws to refuse a request with this signal. It is called before each attempt, and again when a connection takes it.
   */
  readonly guard?: (signal: AbortSignal | undefined) => void;
}

const DEFAULT_TIMEOUT_MS = 30_000;
export const JSON_TYPE = 'application/json';

/** JSON calls by path (client-go's rest.RESTClient): deadlines, retries, a guard, metrics. */
export class RestClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * The parsed body of the answer. Retries a few times when that is safe: see retryDelay().
   * @throws ApiError, TransportError, the signal's reason.
   */
  request(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.answer(method, path, options, bodyOf);
  }

  /** Like request(), but returns what `read` returns; `read` gets the answer of each attempt from its start. */
  async answer<R>(
    method: Method,
    path: string,
    options: RequestOptions,
    read: (response: TransportResponse) => Promise<R>,
  ): Promise<R> {
    const { query, body, contentType = JSON_TYPE, accept = JSON_TYPE, signal } = options;
    const request = {
      method,
      path: withQuery(path, query),
      headers: { Accept: accept, ...(body !== undefined && { 'Content-Type': contentType }) },
      body: JSON.stringify(body),
    };
    const what = `${method} ${path}`;
    const attempt = async (bounded: AbortSignal) => {
      try {
        return await read(await this.#send({ ...request, signal: bounded }));
      } catch (error) {
        throw asTransportError(error, what);
      }
    };
    const { clock, metrics, guard, timeoutMs: most = DEFAULT_TIMEOUT_MS } = this.#options;
    for (let attempts = 1; ; attempts++) {
      guard?.(signal);
      try {
        return await withTimeout(clock, options.timeoutMs ?? most, signal, attempt, what);
      } catch (error) {
        const delay = retryDelay(method, error, attempts);
        if (delay === undefined) {
          if (method !== 'GET' && query?.dryRun === undefined && isRefused(error)) {
            metrics?.writeRefused(resourceIn(path), String(error.status));
          }
          throw error;
        }
        await sleep(clock, delay, signal);
      }
    }
  }

  /**
   * The lines of an answer that may last any time. The generator returns when the answer ends; it throws when the
   * connection breaks, and the signal's reason when the signal aborts. No retries, as for client-go's watches.
   */
  async *stream(
    path: string,
    { query, accept = JSON_TYPE, signal }: RequestOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<unknown, void, undefined> {
    const response = await this.#send({
      method: 'GET',
      path: withQuery(path, query),
      headers: { Accept: accept },
      signal,
      streaming: true,
    });
    try {
      if (response.statusCode !== 200) throw await errorOf(response);
      yield* jsonLines(response.body);
    } catch (error) {
      signal.throwIfAborted();
      throw asTransportError(error, `watch ${path}`);
    } finally {
      response.body.destroy();
    }
  }

  /** Makes one attempt, up to the head of its answer, and records it. */
  async #send(request: TransportRequest): Promise<TransportResponse> {
    const { transport, clock, log, metrics, guard } = this.#options;
    const start = clock.now();
    let code = '<error>';
    try {
      const guarded = guard ? { ...request, guard: () => guard(request.signal) } : request;
      const response = await transport.send(guarded);
      code = String(response.statusCode);
      return response;
    } finally {
      const { method, path } = request;
      const milliseconds = clock.now() - start;
      metrics?.requestFinished(method, code, milliseconds / 1000);
      log?.debug({ method, path, code, ms: Math.round(milliseconds) }, 'request to the API server');
    }
  }
}

function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/** The resource in the path of an object or of a list, with its subresource: `pods/eviction`. */
function resourceIn(path: string): string {
  const [first = '', , ...rest] = path.replace(/^\/(api|apis\/[^/]+)\/[^/]+\//, '').split('/');
  const [resource = first, subresource] =
    first === 'namespaces' && rest.length > 0 ? [rest[0], rest[2]] : [first, rest[0]];
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

const MAX_ATTEMPTS = 4;
const FIRST_RETRY_MS = 100;
/** The caller must plan a longer wait itself. */
const MAX_RETRY_MS = 5_000;

/** The connection ended during the request; often the server had just closed an idle one. */
const CUT_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ECONNABORTED']);

/**
 * How long to wait before a failed attempt is retried, in milliseconds; undefined if it must not be retried here.
 * The rules are client-go's (rest/with_retry.go). A request that the server put off (429, 5xx with Retry-After) had no
 * effect, so any verb is retried. An unanswered request may have had one, so only a read is. Respects Retry-After.
 */
export function retryDelay(method: Method, error: unknown, attempt: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const backoff = FIRST_RETRY_MS * 2 ** (attempt - 1);
  if (error instanceof ApiError) {
    const delay = Math.max(error.retryAfterMs ?? 0, backoff);
    return wasPutOff(error) && delay <= MAX_RETRY_MS ? delay : undefined;
  }
  if (!(error instanceof TransportError)) return undefined;
  const neverSent = error.code === 'ECONNREFUSED';
  return neverSent || (method === 'GET' && CUT_CODES.has(error.code)) ? backoff : undefined;
}

function wasPutOff(error: ApiError): boolean {
  // The newest state can be listed at once, without waiting for the server to catch up.
  if (isTooLargeResourceVersion(error)) return false;
  return error.status === 429 || (error.status >= 500 && error.retryAfterMs !== undefined);
}
