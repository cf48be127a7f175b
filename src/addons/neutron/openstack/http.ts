import { Agent, type Dispatcher } from 'undici';
import { asTransportError } from '../../../kube/api/api-error.ts';
import { guardedDispatcher } from '../../../kube/client/guarded-dispatcher.ts';
import { withTimeout } from '../../../kube/util/waits.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';
import { PROGRAM } from '../../../util/identity.ts';
import type { JsonValue } from '../../../util/json.ts';
import { explained } from './cloud.ts';
import { UnusableAnswerError } from './error.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface HttpRequest {
  readonly method: HttpMethod;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  /** The parsed JSON; the text of an unsuccessful answer without JSON; undefined if empty. */
  readonly body: JsonValue | undefined;
}

export interface HttpMetrics {
  /** Records an attempt with its HTTP status, or `<error>` without an answer. */
  requestFinished(method: HttpMethod, code: string, seconds: number): void;
}

export interface OpenStackHttpOptions {
  readonly clock: Clock;
  /** Authorities to trust instead of the system's, in PEM. */
  readonly ca?: string | undefined;
  /** Timeout of one request up to the last byte (default: 30 s). */
  readonly timeoutMs?: number;
  readonly metrics?: HttpMetrics | undefined;
  /**
   * Called with the signal before each request, and again when a connection sends it. Throws to refuse it.
   */
  readonly guard?: ((signal: AbortSignal) => void) | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** A page of a thousand networks has about 1 MiB. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** The most concurrent requests to one server; others wait. */
const MAX_CONNECTIONS = 8;
const QUOTED_CHARACTERS = 80;

/**
 * JSON over HTTP(S) to servers that may be faulty: each request has a timeout, and each body a size limit. It follows
 * no redirects, which could send a token elsewhere. It does not retry.
 */
export class OpenStackHttp {
  readonly #options: OpenStackHttpOptions;
  readonly #agent: Dispatcher;

  constructor(options: OpenStackHttpOptions) {
    this.#options = options;
    const { ca, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#agent = new Agent({
      allowH2: false,
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      maxResponseSize: MAX_BODY_BYTES,
      connect: { ...(ca !== undefined && { ca }), timeout: timeoutMs },
    });
  }

  /**
   * @throws TransportError without a complete answer; UnusableAnswerError if a successful answer is not JSON or too
   * long; the signal's reason after an abort; errors of `guard`.
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { clock, timeoutMs = DEFAULT_TIMEOUT_MS, metrics, guard } = this.#options;
    guard?.(request.signal);
    const what = `${request.method} ${request.url.origin}${request.url.pathname}`;
    const started = clock.now();
    let code = '<error>';
    const attempt = async (signal: AbortSignal) => {
      try {
        const answer = await this.#send({ ...request, signal }, what);
        code = String(answer.status);
        return answer;
      } catch (error) {
        throw explained(asTransportError(error, what), what);
      }
    };
    try {
      return await withTimeout(clock, timeoutMs, request.signal, attempt, what);
    } finally {
      metrics?.requestFinished(request.method, code, (clock.now() - started) / 1000);
    }
  }

  /** Ends requests in flight; do not send others afterwards. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #send({ method, url, headers, body, signal }: HttpRequest, what: string): Promise<HttpAnswer> {
    const { guard } = this.#options;
    const agent = guard ? guardedDispatcher(this.#agent, () => guard(signal)) : this.#agent;
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: {
        accept: 'application/json',
        'user-agent': PROGRAM,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    const { statusCode: status } = response;
    const text = await response.body.text();
    const header = (name: string) => [response.headers[name]].flat()[0];
    return { status, header, body: parse(text, what, status) };
  }
}

function parse(text: string, what: string, status: number): JsonValue | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The status of an error page, perhaps of a proxy, says enough.
    if (status < 200 || status > 299) return text;
    const quoted = JSON.stringify(text.slice(0, QUOTED_CHARACTERS));
    throw new UnusableAnswerError(`${what}: expected JSON, got ${quoted}`, { cause });
  }
}
