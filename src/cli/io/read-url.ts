import { Readable } from 'node:stream';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { toError } from '../../kube/util/to-error.ts';
import { gather, MAX_BYTES } from './gather.ts';

const TIMEOUT_MS = 30_000;

/** Reads a file from the web, with the proxy of the environment. @throws Error that says why it cannot. */
export async function readUrl(
  url: string,
  { maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS } = {},
): Promise<Buffer> {
  const dispatcher = new EnvHttpProxyAgent({ allowH2: false, proxyTls: { allowH2: false } });
  try {
    const response = await fetch(url, { dispatcher, signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`the server answers ${response.status} ${response.statusText}`);
    return await gather(response.body ?? Readable.from([]), maxBytes);
  } catch (thrown) {
    const error = toError(thrown);
    if (error.name === 'TimeoutError')
      throw new Error(`no answer within ${timeoutMs / 1000} s: download it`, { cause: error });
    // fetch hides why it failed in the cause.
    throw error.cause === undefined ? error : toError(error.cause);
  } finally {
    await dispatcher.destroy();
  }
}
