import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import type { Logger } from 'pino';
import { inTime } from './deadline.ts';
import { HttpError } from './http-error.ts';
import { readJson } from './read-body.ts';
import { formatReview, type ReviewHandler } from './response.ts';
import { parseReview } from './review.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

interface AppOptions {
  /** The webhooks by the path at which each is called. */
  readonly routes: Readonly<Record<string, ReviewHandler>>;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** The Express application: how a call becomes a review, and what a webhook says an answer. */
export function createApp({ routes, log, metrics, now }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.use((_request, response, next) => {
    response.locals.startedAt = now();
    next();
  });
  const done = (response: Response, path: string, status: number) =>
    metrics.answered(path, status, (now() - response.locals.startedAt) / 1000);
  for (const [path, handler] of Object.entries(routes)) {
    app.post(path, async (request, response) => {
      metrics.inFlight(path, 1);
      try {
        send(response, 200, 'application/json', await review(request, response, handler));
        done(response, path, 200);
      } finally {
        metrics.inFlight(path, -1);
      }
    });
    app.all(path, (_, response) => {
      response.setHeader('Allow', 'POST');
      throw new HttpError(405, 'only POST');
    });
  }
  app.use(() => {
    throw new HttpError(404, 'no such path');
  });
  app.use(((err, request, response, _next) => {
    const status = err instanceof HttpError ? err.status : 500;
    const { method, path } = request;
    if (!(err instanceof HttpError)) log.error({ method, path, status, err }, 'review failed');
    else if (status >= 500) log.error({ method, path, status, reason: err.message }, 'review failed');
    else log.warn({ method, path, status, reason: err.message }, 'call refused');
    sendError(request, response, status, err instanceof HttpError ? err.message : 'internal error');
    done(response, Object.hasOwn(routes, path) ? path : '', status);
  }) satisfies ErrorRequestHandler);
  return app;
}

/** The time that the API server gives covers the reading of the body too. */
function review(request: Request, response: Response, handler: ReviewHandler): Promise<string> {
  return inTime(request, response, async (signal) => {
    const admission = parseReview(await readJson(request));
    return formatReview(admission.uid, await handler(admission, signal));
  });
}

/** One plain line. The API server quotes it to whoever asked for the pod. */
function sendError(request: Request, response: Response, status: number, message: string): void {
  if (response.headersSent || response.destroyed) return;
  // What is left of the body must not be taken for the next call, nor be waited for.
  if (!request.complete) {
    response.setHeader('Connection', 'close');
    request.resume();
  }
  send(response, status, 'text/plain; charset=utf-8', `${message}\n`);
}

function send(response: Response, status: number, type: string, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.end(text);
}
