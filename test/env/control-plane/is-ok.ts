import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';

/** What proves a client to a server, and the server to it. */
export interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const TIMEOUT_MS = 2_000;

/** Whether a GET is answered 200 within 2 s. That nothing answers at all is an answer too: never rejects. */
export async function isOk(url: string, tls?: ClientTls): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false, timeout: TIMEOUT_MS, signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
    const request = tls === undefined ? httpGet(url, options) : httpsGet(url, { ...options, ...tls });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('error', () => resolve(false));
  });
}
