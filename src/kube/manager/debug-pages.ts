import type { RequestListener } from 'node:http';
import express from 'express';
import { LOG_LEVELS, type LogVerbosity } from './logger.ts';

export interface DebugPagesOptions {
  /** Pages under /debug, by name; each is shown as JSON. */
  readonly debug: Readonly<Record<string, () => unknown>>;
  /** Shown and changed at /debug/log-level. */
  readonly verbosity: LogVerbosity;
}

/** Node's forms of the address of clients in this pod, including `kubectl port-forward`. */
const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1'];

/**
 * `/debug/…` without secrets, and 404 for other paths. PUT `/debug/log-level` with a level as its body changes the log
 * level, from this pod only.
 */
export function debugPages({ debug, verbosity }: DebugPagesOptions): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  for (const [name, page] of Object.entries(debug)) {
    app.get(`/debug/${name}`, (_request, response) => {
      response.json(page());
    });
  }
  app.get('/debug/log-level', (_request, response) => {
    response.type('text/plain').send(`${verbosity.level()}\n`);
  });
  // Before the body is read: Express prints the stack trace of a body that it cannot read.
  app.put('/debug/log-level', (request, response, next) => {
    if (LOOPBACK.includes(request.socket.remoteAddress ?? '')) return next();
    response.status(403).type('text/plain').send('forbidden from other hosts: use kubectl port-forward\n');
  });
  // Accepts any content type: curl sets its own for --data.
  app.put('/debug/log-level', express.text({ type: () => true, limit: 100 }), (request, response) => {
    response.type('text/plain');
    const wanted = String(request.body).trim();
    const level = LOG_LEVELS.find((each) => each === wanted);
    if (level) verbosity.setLevel(level);
    response
      .status(level ? 200 : 400)
      .send(level ? `${level}\n` : `expected ${LOG_LEVELS.join(', ')}, got ${wanted}\n`);
  });
  return app;
}
