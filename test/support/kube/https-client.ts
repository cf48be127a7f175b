import { once } from 'node:events';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { text } from 'node:stream/consumers';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A client of one HTTPS server on localhost, with keep-alive as the API server has it. */
export class HttpsClient {
  readonly #port: number;
  readonly #ca: string[];
  #agent = new Agent({ keepAlive: true });

  constructor(port: number, ...ca: string[]) {
    this.#port = port;
    this.#ca = ca;
  }

  /** Starts a call, whose body the caller writes. */
  start(path: string, options: RequestOptions = {}): ClientRequest {
    const headers = { 'content-type': 'application/json', ...options.headers };
    return request({
      host: 'localhost',
      port: this.#port,
      ca: this.#ca,
      agent: this.#agent,
      method: 'POST',
      path,
      ...options,
      headers,
    });
  }

  async call(path: string, body: string | Buffer = '', options: RequestOptions = {}): Promise<Answer> {
    const call = this.start(path, options);
    call.end(body);
    return answerTo(call);
  }

  /** Closes every connection; the next call opens a new one. */
  disconnect(): void {
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true });
  }
}

/** The whole answer to a call. */
export async function answerTo(call: ClientRequest): Promise<Answer> {
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}
