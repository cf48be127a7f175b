import { createServer, type Server } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler, type Response } from 'express';
import type { Registry } from 'prom-client';
import { Connections } from '../admission/connections.ts';
import { toError } from '../util/errors.ts';
import { sleep } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import { tokenBucket } from '../workqueue/rate-limiters.ts';

/** A condition for the readiness of the process. */
export interface ReadinessCheck {
  readonly name: string;
  /** What is missing, in a few words; undefined if the check passes. */
  readonly failure: () => string | undefined;
  /** A failure is shown, but the process stays ready: without it, no other replica would serve better. */
  readonly isWarning?: boolean;
}

export interface ProbesOptions {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly checks: readonly ReadinessCheck[];
  /** The problem that only a restart fixes, for `/healthz`; undefined without one. */
  readonly stuck?: () => string | undefined;
}

/** The kubelet and Prometheus need a few; beyond this the oldest ones are closed. */
const CONNECTIONS = { most: 100, slowMs: 0 };
const TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
} as const;
/** For an answer of which nothing is read. */
const UNREAD_MS = 10_000;
/** The head of Prometheus with a token is 2 kB. */
const MAX_HEAD_BYTES = 4 * 1024;
/** Calls of all but the probes. */
const PAGES = { ratePerSecond: 20, burst: 20 };
/** The next text of the metrics waits this many times as long as the last one took: at most 5 % of the time is spent on it. */
const PAUSES_PER_RENDERING = 19;

/**
 * The plain-HTTP server for the kubelet and Prometheus: `/healthz`, `/readyz` and `/metrics`. It does not
 * listen yet.
 *
 * Every pod may call it, and it shares its process with the webhook. So connections are few and short, and costly pages
 * have a rate limit. The probes have none: the kubelet restarts a pod that does not answer.
 */
export function createProbesServer(options: ProbesOptions): Server {
  const { clock, registry, checks, stuck } = options;
  const closed = new AbortController();
  const metrics = sharedText(clock, () => registry.metrics(), closed.signal);
  const pages = tokenBucket(clock, PAGES);

  const app = express();
  for (const name of ['x-powered-by', 'etag']) app.disable(name);
  // It ignores the API server, which a restart cannot bring back.
  app.get('/healthz', (_request, response) => {
    const problem = stuck?.();
    answer(response, problem === undefined ? 200 : 503, problem ?? 'ok');
  });
  app.get('/readyz', readiness(checks));
  app.use((_request, response, next) => {
    if (pages.tryTake()) return next();
    answer(response.set('Retry-After', '1'), 429, 'too many calls: try again');
  });
  app.get('/metrics', async (_request, response) => {
    response.type(registry.contentType).send(await metrics());
  });
  const failed: ErrorRequestHandler = (err, _request, response, _next) => {
    // The text of metrics is given up when the server closes.
    if (closed.signal.aborted || response.headersSent) return void response.destroy();
    const { status = 500 } = err as { status?: number };
    answer(response, status, toError(err).message);
  };
  app.use(failed);

  const server = createServer({ ...TIMES, maxHeaderSize: MAX_HEAD_BYTES });
  server.timeout = UNREAD_MS;
  new Connections(server, { ...CONNECTIONS, now: () => clock.now() });
  server.on('request', app);
  // A pending text would keep the process alive.
  server.on('close', () => closed.abort());
  return server;
}

function answer(response: Response, status: number, line: string): void {
  response.status(status).type('text/plain').send(`${line}\n`);
}

/** Passes if all checks but warnings pass. Shows one line per check if any fails, like the API server's. */
function readiness(checks: readonly ReadinessCheck[]): RequestHandler {
  return (request, response) => {
    const results = checks.map((check) => ({ ...check, failure: check.failure() }));
    const failures = results.filter(({ failure }) => failure !== undefined);
    const ready = failures.every(({ isWarning }) => isWarning);
    const lines = results.map(({ name, failure, isWarning }) => {
      if (failure === undefined) return `[+]${name} ok`;
      return isWarning ? `[!]${name} warns: ${failure}` : `[-]${name} failed: ${failure}`;
    });
    const verbose = failures.length > 0 || request.query.verbose !== undefined;
    const all = `${lines.join('\n')}\nreadyz check ${ready ? 'passed' : 'failed'}`;
    answer(response, ready ? 200 : 503, verbose ? all : 'ok');
  };
}

/**
 * Bounds the time that goes into the text of the metrics, which every client of the port may request. Requests in the
 * meantime wait for the next text and share it. It is never older than the request.
 */
function sharedText(clock: Clock, render: () => Promise<string>, closed: AbortSignal): () => Promise<string> {
  let next: Promise<string> | undefined;
  let notBefore = clock.now();
  const make = async () => {
    // Waits at least one turn, so that concurrent callers share the text.
    await sleep(clock, notBefore - clock.now(), closed);
    next = undefined;
    const start = clock.now();
    const text = await render();
    const end = clock.now();
    notBefore = end + PAUSES_PER_RENDERING * (end - start);
    return text;
  };
  return () => (next ??= make());
}
