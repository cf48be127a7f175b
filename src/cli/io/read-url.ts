import { Readable } from 'node:stream';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { toError } from '../../kube/util/to-error.ts';
import { gather, MAX_BYTES } from './gather.ts';

const TIMEOUT_MS = 30_000;

/** As in Go, and so in kubectl, no proxy is asked for these. */
const LOOPBACK = 'localhost,127.0.0.1,[::1]';

/** Reads a file from the web, with the proxy of the environment. @throws Error that says why it cannot. */
export async function readUrl(
  url: string,
  { maxBytes = MAX_BYTES, timeoutMs = TIMEOUT_MS } = {},
): Promise<Buffer> {
  const { no_proxy, NO_PROXY = '' } = process.env;
  const dispatcher = new EnvHttpProxyAgent({
    allowH2: false,
    proxyTls: { allowH2: false },
    noProxy: `${no_proxy ?? NO_PROXY},${LOOPBACK}`,
  });
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
