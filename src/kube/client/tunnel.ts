import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIPv6 } from 'node:net';
import { getCACertificates } from 'node:tls';
import { buildConnector } from 'undici';
import type { TlsOptions } from './credentials.ts';

const KEEP_ALIVE_DELAY_MS = 30_000;

/** The proxy did not open a tunnel to the API server. */
class ProxyError extends Error {
  readonly code = 'EPROXY';
}

/**
 * Opens TLS connections through a tunnel of the proxy (HTTP CONNECT). Not undici's ProxyAgent: a ProxyAgent that is
 * closing cannot be destroyed. `timeoutMs` bounds each of the two steps, the tunnel and the handshake. `track` knows of
 * the second; the connector returns the first.
 */
export function tunnelConnector(
  proxyUrl: string,
  tls: TlsOptions,
  timeoutMs: number,
  track = (connect: buildConnector.connector) => connect,
): (...given: Parameters<buildConnector.connector>) => ClientRequest {
  const proxy = new URL(proxyUrl);
  const connectTls = track(buildConnector({ ...tls, allowH2: false, timeout: timeoutMs }));
  return (options, callback) => {
    const { hostname, port } = options;
    const target = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port || 443}`;
    const fail = (reason: string) =>
      callback(new ProxyError(`the proxy ${proxy.origin} did not connect to ${target}: ${reason}`), null);
    const request = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
      ...(proxy.protocol === 'https:' ? tlsToProxy(tls) : {}),
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...authorization(proxy) },
      agent: false,
      timeout: timeoutMs,
    });
    request.once('connect', (response, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        fail(`it answered ${response.statusCode} ${response.statusMessage ?? ''}`.trim());
        return;
      }
      socket.setTimeout(0);
      // Below the 60 s after which cloud load balancers drop a silent connection.
      socket.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
      connectTls({ ...options, httpSocket: socket }, callback);
    });
    request.once('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    request.once('error', (error) => fail(error.message));
    return request.end();
  };
}

/** As in client-go, the cluster's authority may have signed the proxy's certificate; it gets no client certificate. */
function tlsToProxy({ ca, rejectUnauthorized }: TlsOptions): TlsOptions {
  return {
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca].flat() }),
  };
}

function authorization({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
