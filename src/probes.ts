import { createServer, type Server } from 'node:http';
import express from 'express';
import type { Registry } from 'prom-client';
import { LOG_LEVELS, type LogVerbosity } from './log.ts';

/** One thing that must be so before the process takes work. */
export interface ReadinessCheck {
  readonly name: string;
  /** What is missing, in a few words; undefined when nothing is. */
  readonly failure: () => string | undefined;
}

export interface ProbesOptions {
  readonly registry: Registry;
  readonly checks: readonly ReadinessCheck[];
  /** What only a restart mends, for `/healthz`; undefined where there is no such thing. */
  readonly stuck?: () => string | undefined;
  /** Pages under /debug: name to what it shows, as JSON. */
  readonly debug: Readonly<Record<string, () => unknown>>;
  /** Told at /debug/log-level, and changed there. */
  readonly verbosity: LogVerbosity;
}

/** As Node writes the address of who calls from this pod, and so of who calls by `kubectl port-forward`. */
const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1'];

/**
 * The plain-HTTP server of the kubelet and of Prometheus: `/healthz` (the event loop turns, and nothing is stuck; the
 * API server is none of its business, a restart would not bring it back), `/readyz` (all checks hold, else 503 with what
 * is missing, one a line, as the API server's own does), `/metrics`, and `/debug/…` without secrets. PUT
 * `/debug/log-level`, with the level as its body, changes it, for who calls from this pod. It does not listen yet.
 */
export function createProbesServer({ registry, checks, stuck, debug, verbosity }: ProbesOptions): Server {
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
  app.get('/metrics', async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  });
  for (const [name, page] of Object.entries(debug)) {
    app.get(`/debug/${name}`, (_request, response) => {
      response.json(page());
    });
  }
  app.get('/debug/log-level', (_request, response) => {
    response.type('text/plain').send(`${verbosity.level()}\n`);
  });
  // Whatever the type that the caller says it is: curl has one of its own for --data.
  app.put('/debug/log-level', express.text({ type: () => true, limit: 100 }), (request, response) => {
    response.type('text/plain');
    if (!LOOPBACK.includes(request.socket.remoteAddress ?? '')) {
      response.status(403).send('only from this pod: by kubectl port-forward\n');
      return;
    }
    const wanted = String(request.body).trim();
    const level = LOG_LEVELS.find((each) => each === wanted);
    if (level) verbosity.setLevel(level);
    response
      .status(level ? 200 : 400)
      .send(level ? `${level}\n` : `expected ${LOG_LEVELS.join(', ')}, got ${wanted}\n`);
  });
  return createServer(app);
}
