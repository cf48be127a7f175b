import { asTransportError } from '../api/api-error.ts';
import { bodyOf, errorOf } from '../api/response.ts';
import type { CacheMetrics } from '../cache/cache-metrics.ts';
import { sleep } from '../util/sleep.ts';
import { within } from '../util/within.ts';
import type { Clock } from '../workqueue/clock.ts';
import { jsonLines } from './json-lines.ts';
import { retryDelay } from './retry.ts';
import type { Method, Transport, TransportRequest, TransportResponse } from './transport.ts';

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bound of one attempt, from asking to the last byte, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** What a call by path may say. */
export interface RequestOptions extends CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
}

export interface ClientMetrics {
  /**
   * An attempt ended: its HTTP status, or `<error>` where none came (client-go's rest_client_requests_total). The path, with
   * its query, is for a log, and of too many kinds for a metric.
   */
  requestFinished(method: Method, code: string, seconds: number, path: string): void;
}

export interface ClientOptions {
  readonly transport: Pick<Transport, 'send'>;
  readonly clock: Clock;
  readonly metrics?: ClientMetrics;
  /** For the caches that are kept by this client. */
  readonly cacheMetrics?: CacheMetrics | undefined;
  /** Default bound of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Gives way to others: resolves when the next request may be sent. None: the server's own fairness (APF) decides. */
  readonly waitTurn?: (signal: AbortSignal | undefined) => Promise<void>;
}

const DEFAULT_TIMEOUT_MS = 30_000;
export const JSON_TYPE = 'application/json';

/** JSON calls by path (client-go's rest.RESTClient): deadlines, retries, a turn to wait for, metrics. */
export class RestClient {
  readonly #transport: Pick<Transport, 'send'>;
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

  /**
   * The parsed body of the answer. What is safe to send again is sent again, a few times: see retryDelay().
   * @throws ApiError, TransportError, the signal's reason.
   */
  request(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.answer(method, path, options, bodyOf);
  }

  /** As request(), with what `read` makes of the answer; `read` sees the answer of each attempt from its beginning. */
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
      headers: {
        Accept: accept,
        ...(body === undefined ? {} : { 'Content-Type': contentType }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    const what = `${method} ${path}`;
    const attempt = async (bounded: AbortSignal) => {
      try {
        return await read(await this.#send({ ...request, signal: bounded }));
      } catch (error) {
        throw asTransportError(error, what);
      }
    };
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    for (let attempts = 1; ; attempts++) {
      await this.#waitTurn?.(signal);
      try {
        return await within(this.#clock, timeoutMs, signal, attempt, what);
      } catch (error) {
        const delay = retryDelay(method, error, attempts);
        if (delay === undefined) throw error;
        await sleep(this.#clock, delay, signal);
      }
    }
  }

  /**
   * The lines of an answer that may take as long as it likes, until it ends (the generator returns), breaks (it throws)
   * or the signal aborts (it throws the signal's reason). Sent once; and it waits for no turn, as in client-go a watch does not.
   */
  async *stream(
    path: string,
    {
      query,
      accept,
      signal,
    }: { readonly query: Query; readonly accept: string; readonly signal: AbortSignal },
  ): AsyncGenerator<unknown, void, undefined> {
    const response = await this.#send({
      method: 'GET',
      path: withQuery(path, query),
      headers: { Accept: accept },
      signal,
      streaming: true,
    });
    try {
      if (response.status !== 200) throw await errorOf(response);
      yield* jsonLines(response.body);
    } catch (error) {
      signal.throwIfAborted();
      throw asTransportError(error, `watch ${path}`);
    } finally {
      response.body.destroy();
    }
  }

  /** One attempt, up to the head of its answer, measured. */
  async #send(request: TransportRequest): Promise<TransportResponse> {
    const start = this.#clock.now();
    let code = '<error>';
    try {
      const response = await this.#transport.send(request);
      code = String(response.status);
      return response;
    } finally {
      const seconds = (this.#clock.now() - start) / 1000;
      this.#metrics?.requestFinished(request.method, code, seconds, request.path);
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
