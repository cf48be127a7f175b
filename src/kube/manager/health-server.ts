import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import type { Registry } from 'prom-client';
import { type Connection, Connections, SWEEP_MS } from '../admission/connections.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';
import { LOG_LEVELS, type LogVerbosity } from './logger.ts';
import { MetricsText } from './metrics-text.ts';

/** A condition for the readiness of the process. */
export interface ReadinessCheck {
  readonly name: string;
  /** What is missing, in a few words; undefined if the check passes. */
  readonly failure: () => string | undefined;
}

export interface ProbesOptions {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly checks: readonly ReadinessCheck[];
  /** The problem that only a restart fixes, for `/healthz`; undefined without one. */
  readonly stuck?: () => string | undefined;
  /** Pages under /debug, by name; each is shown as JSON. */
  readonly debug: Readonly<Record<string, () => unknown>>;
  /** Shown and changed at /debug/log-level. */
  readonly verbosity: LogVerbosity;
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
/** Calls per second of the costly pages: /metrics and /debug. */
const PAGES_PER_SECOND = 20;

/** Node's forms of the address of clients in this pod, including `kubectl port-forward`. */
const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1'];

/**
 * The plain-HTTP server for the kubelet and Prometheus. `/healthz` passes if the event loop turns and nothing is stuck;
 * it ignores the API server, which a restart cannot bring back. `/readyz` passes if all checks pass; otherwise it
 * answers 503 with one line per failure, like the API server's. `/metrics`, and `/debug/…` without secrets. PUT
 * `/debug/log-level` with a level as its body changes the log level, from this pod only. The server does not listen
 * yet.
 *
 * Every pod may call it, and it shares its process with the webhook. So connections are few and short, and costly pages
 * have a rate limit. The probes have none: the kubelet restarts a pod that does not answer.
 */
export function createProbesServer(options: ProbesOptions): Server {
  const { clock, registry, checks, stuck, debug, verbosity } = options;
  const closed = new AbortController();
  const metrics = new MetricsText(clock, () => registry.metrics());
  const pages = new TokenBucket({ clock, ratePerSecond: PAGES_PER_SECOND, burst: PAGES_PER_SECOND });
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/healthz', (_request, response) => {
    const problem = stuck?.();
    response
      .status(problem === undefined ? 200 : 503)
      .type('text/plain')
      .send(`${problem ?? 'ok'}\n`);
  });
  app.get('/readyz', (request, response) => {
    const results = checks.map(({ name, failure }) => ({ name, failure: failure() }));
    const ready = results.every((result) => result.failure === undefined);
    const lines = results.map(({ name, failure }) =>
      failure ? `[-]${name} failed: ${failure}` : `[+]${name} ok`,
    );
    const verbose = !ready || 'verbose' in request.query;
    response
      .status(ready ? 200 : 503)
      .type('text/plain')
      .send(verbose ? `${lines.join('\n')}\nreadyz check ${ready ? 'passed' : 'failed'}\n` : 'ok\n');
  });
  app.use(['/metrics', '/debug'], (_request, response, next) => {
    if (pages.tryTake()) return next();
    response.status(429).set('Retry-After', '1').type('text/plain').send('too many calls: try again\n');
  });
  app.get('/metrics', async (_request, response) => {
    try {
      response.type(registry.contentType).send(await metrics.get(closed.signal));
    } catch (err) {
      if (!closed.signal.aborted) throw err;
      response.destroy();
    }
  });
  for (const [name, page] of Object.entries(debug)) {
    app.get(`/debug/${name}`, (_request, response) => {
      response.json(page());
    });
  }
  app.get('/debug/log-level', (_request, response) => {
    response.type('text/plain').send(`${verbosity.level()}\n`);
  });
  // Accepts any content type: curl sets its own for --data.
  app.put('/debug/log-level', express.text({ type: () => true, limit: 100 }), (request, response) => {
    response.type('text/plain');
    if (!LOOPBACK.includes(request.socket.remoteAddress ?? '')) {
      response.status(403).send('forbidden from other hosts: use kubectl port-forward\n');
      return;
    }
    const wanted = String(request.body).trim();
    const level = LOG_LEVELS.find((each) => each === wanted);
    if (level) verbosity.setLevel(level);
    response
      .status(level ? 200 : 400)
      .send(level ? `${level}\n` : `expected ${LOG_LEVELS.join(', ')}, got ${wanted}\n`);
  });
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
    app(request, response);
  });
  // A pending text would keep the process alive.
  server.on('close', () => closed.abort());
  return server;
}
