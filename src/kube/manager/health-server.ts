import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { type Connection, Connections, SWEEP_MS } from '../admission/connections.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';
import type { DebugPagesOptions } from './debug-pages.ts';
import { MetricsText } from './metrics-text.ts';

/** A condition for the readiness of the process. */
export interface ReadinessCheck {
  readonly name: string;
  /** What is missing, in a few words; undefined if the check passes. */
  readonly failure: () => string | undefined;
  /** A failure is shown, but the process stays ready: without it, no other replica would serve better. */
  readonly isWarning?: boolean;
}

export interface ProbesOptions extends DebugPagesOptions {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly checks: readonly ReadinessCheck[];
  /** The problem that only a restart fixes, for `/healthz`; undefined without one. */
  readonly stuck?: () => string | undefined;
}

/**
 * The kubelet and Prometheus need a few; beyond this the oldest ones are closed. A call has 10 s until its answer is
 * read.
 */
const CONNECTIONS = { most: 100, busyMs: 10_000, slowMs: 0 } as const;
const TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: SWEEP_MS,
} as const;
/** The head of Prometheus with a token is 2 kB. */
const MAX_HEAD_BYTES = 4 * 1024;
/** Calls per second of all but the probes. */
const PAGES_PER_SECOND = 20;

/**
 * The plain-HTTP server for the kubelet and Prometheus. `/healthz` passes if the event loop turns and nothing is stuck;
 * it ignores the API server, which a restart cannot bring back. `/readyz` passes if all checks but warnings pass;
 * otherwise it answers 503. It shows one line per check if any fails, like the API server's. `/metrics`, and other paths by debug-pages.ts, which
 * loads Express at the first of them: it takes 4 MB. The server does not listen yet.
 *
 * Every pod may call it, and it shares its process with the webhook. So connections are few and short, and costly pages
 * have a rate limit. The probes have none: the kubelet restarts a pod that does not answer.
 */
export function createProbesServer(options: ProbesOptions): Server {
  const { clock, registry, checks, stuck } = options;
  const closed = new AbortController();
  const metrics = new MetricsText(clock, () => registry.metrics());
  const pages = new TokenBucket({ clock, ratePerSecond: PAGES_PER_SECOND, burst: PAGES_PER_SECOND });
  let others: Promise<RequestListener> | undefined;

  const showReadiness = (response: ServerResponse, query: string) => {
    const results = checks.map((check) => ({ ...check, failure: check.failure() }));
    const failures = results.filter(({ failure }) => failure !== undefined);
    const ready = failures.every(({ isWarning }) => isWarning);
    const lines = results.map(({ name, failure, isWarning }) => {
      if (failure === undefined) return `[+]${name} ok`;
      return isWarning ? `[!]${name} warns: ${failure}` : `[-]${name} failed: ${failure}`;
    });
    const verbose = failures.length > 0 || new URLSearchParams(query).has('verbose');
    const all = `${lines.join('\n')}\nreadyz check ${ready ? 'passed' : 'failed'}\n`;
    answer(response, ready ? 200 : 503, verbose ? all : 'ok\n');
  };
  const showMetrics = async (response: ServerResponse) => {
    const text = await metrics.get(closed.signal);
    answer(response, 200, text, registry.contentType);
  };
  const route: RequestListener = async (request, response) => {
    const [address = '', query = ''] = request.url?.split('?') ?? [];
    const path = address.toLowerCase().replace(/\/$/, '');
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (reads && path === '/healthz') {
      const problem = stuck?.();
      answer(response, problem === undefined ? 200 : 503, `${problem ?? 'ok'}\n`);
    } else if (reads && path === '/readyz') {
      showReadiness(response, query);
    } else if (!pages.tryTake()) {
      response.setHeader('Retry-After', '1');
      answer(response, 429, 'too many calls: try again\n');
    } else if (reads && path === '/metrics') {
      await showMetrics(response);
    } else {
      others ??= import('./debug-pages.ts').then(({ debugPages }) => debugPages(options));
      const listener = await others;
      listener(request, response);
    }
  };
  const server = createServer({ ...TIMES, maxHeaderSize: MAX_HEAD_BYTES });
  const connections = new Connections({
    refused() {},
    now: () => clock.now(),
    limits: CONNECTIONS,
  });
  const bySocket = new WeakMap<Socket, Connection>();
  connections.follow(server, (connection) => bySocket.set(connection.socket, connection));
  server.on('request', (request, response) => {
    const connection = bySocket.get(request.socket);
    if (connection) connections.called(connection, response);
    Promise.resolve(route(request, response)).catch((err: unknown) => {
      // The text of metrics is given up when the server closes.
      if (closed.signal.aborted || response.headersSent) response.destroy();
      else answer(response, 500, `${toError(err).message}\n`);
    });
  });
  // A pending text would keep the process alive.
  server.on('close', () => closed.abort());
  return server;
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
