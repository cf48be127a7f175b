import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type Request, type Response } from 'express';
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

/**
 * How a call becomes a review, and what a webhook says an answer: by Express's router. The application that it usually
 * comes in gives every request and response another prototype, for methods that nothing here uses, and V8 makes each
 * access to them pay for that (docs/performance.md).
 */
export function createApp({ routes, log, metrics, now }: AppOptions): RequestListener {
  const router = express.Router({ caseSensitive: true, strict: true });
  const done = (path: string, status: number, startedAt: number) =>
    metrics.answered(path, status, (now() - startedAt) / 1000);
  for (const [path, handler] of Object.entries(routes)) {
    router.post(path, async (request, response) => {
      const startedAt = now();
      metrics.inFlight(path, 1);
      try {
        send(response, 200, 'application/json', await review(request, response, handler));
        done(path, 200, startedAt);
      } finally {
        metrics.inFlight(path, -1);
      }
    });
    router.all(path, (_, response) => {
      response.setHeader('Allow', 'POST');
      throw new HttpError(405, 'only POST');
    });
  }
  return (request, response) => {
    const startedAt = now();
    const fail = (err: unknown) => {
      const status = err instanceof HttpError ? err.status : 500;
      const { method, url = '' } = request;
      const path = pathOf(url);
      if (!(err instanceof HttpError)) log.error({ method, path, status, err }, 'review failed');
      else if (status >= 500) log.error({ method, path, status, reason: err.message }, 'review failed');
      else log.warn({ method, path, status, reason: err.message }, 'call refused');
      sendError(request, response, status, err instanceof HttpError ? err.message : 'internal error');
      done(Object.hasOwn(routes, path) ? path : '', status, startedAt);
    };
    router(request as Request, response as Response, (err?: unknown) =>
      fail(err ?? new HttpError(404, 'no such path')),
    );
  };
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The time that the API server gives covers the reading of the body too. */
function review(request: IncomingMessage, response: ServerResponse, handler: ReviewHandler): Promise<string> {
  return inTime(request, response, async (signal) => {
    const admission = parseReview(await readJson(request));
    return formatReview(admission.uid, await handler(admission, signal));
  });
}

/** One plain line. The API server quotes it to whoever asked for the pod. */
function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
): void {
  if (response.headersSent || response.destroyed) return;
  // What is left of the body must not be taken for the next call, nor be waited for.
  if (!request.complete) {
    response.setHeader('Connection', 'close');
    request.resume();
  }
  send(response, status, 'text/plain; charset=utf-8', `${message}\n`);
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.end(text);
}
