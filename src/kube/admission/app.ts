import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import { parseDuration } from '../../util/duration.ts';
import type { WebhookMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { abortable } from '../util/waits.ts';
import { BodyBudget } from './body-budget.ts';
import { HttpError } from './http-error.ts';
import { parseJson, readBody, requireJson } from './read-body.ts';
import { formatReview, parseReview, type ReviewHandler } from './review.ts';

/** The API server's default for timeoutSeconds. Also the maximum, since any client can send the parameter. */
const LONGEST_MS = 10_000;
/** The rest is for the delivery of the answer, so that the caller gets it instead of a timeout. */
const SHARE = 0.9;
/** Never sent: nginx's status for calls whose caller hung up. */
const HUNG_UP = 499;

/** What is known of a call, in `response.locals`. */
interface Call extends Record<string, unknown> {
  readonly startedAt: number;
  /** Its path; empty for an unknown webhook. */
  readonly webhook: string;
}
type Middleware = RequestHandler<object, unknown, unknown, unknown, Call>;

/**
 * The Express app of these webhooks, by path: turns a call into a review, and the result of a webhook into an answer.
 * Express's own body parsers would hold what any number of clients sends; see readBody. `now`: milliseconds, monotonic.
 */
export function createApp(
  routes: Readonly<Record<string, ReviewHandler>>,
  log: Logger,
  metrics: WebhookMetrics,
  now: () => number,
): Express {
  const budget = new BodyBudget(now);
  const app = express();
  for (const name of ['x-powered-by', 'etag']) app.disable(name);
  for (const name of ['case sensitive routing', 'strict routing']) app.enable(name);

  const begin =
    (webhook: string): Middleware =>
    (_request, response, next) => {
      response.locals = { webhook, startedAt: now() };
      if (webhook) metrics.inFlight(webhook, 1);
      next();
    };
  const answer = (response: Response<unknown, Call>, status: number, type: string, text: string) => {
    const { startedAt, webhook } = response.locals;
    send(response, status, type, text);
    if (webhook) metrics.inFlight(webhook, -1);
    metrics.answered(webhook, status, (now() - startedAt) / 1000);
  };
  const review =
    (handler: ReviewHandler): Middleware =>
    async (request, response) => {
      const text = await inTime(request, response, async (signal) => {
        requireJson(request);
        const body = await readBody(request, budget);
        return await budget.work(body.length, async () => {
          const admission = parseReview(parseJson(body));
          return formatReview(admission.uid, await handler(admission, signal));
        });
      });
      answer(response, 200, 'application/json', text);
    };
  const failed: ErrorRequestHandler<object, unknown, unknown, unknown, Call> = (
    err: unknown,
    { method, path },
    response,
    _next,
  ) => {
    const { status, message, refusal } =
      err instanceof HttpError ? err : new HttpError(500, 'internal error');
    if (refusal) metrics.refused(refusal);
    if (!(err instanceof HttpError)) log.error({ method, path, status, err }, 'review failed');
    else if (status >= 500 && !refusal) log.error({ method, path, status, reason: message }, 'review failed');
    else log.warn({ method, path, status, reason: message }, 'call refused');
    // One plain line. The API server quotes it to the client that created the pod.
    answer(response, status, 'text/plain; charset=utf-8', `${message}\n`);
  };

  // These are async: until the end of this turn, Node does not know that a request without a body is complete.
  const wrongMethod: Middleware = async (_request, response) => {
    response.setHeader('Allow', 'POST');
    throw new HttpError(405, 'expected POST');
  };
  const wrongPath: Middleware = async () => {
    throw new HttpError(404, 'unknown path');
  };
  for (const [path, handler] of Object.entries(routes))
    app.route(path).all(begin(path)).post(review(handler)).all(wrongMethod);
  app.use(begin(''), wrongPath, failed);
  return app;
}

function send(response: Response<unknown, Call>, status: number, type: string, text: string): void {
  if (response.destroyed) return;
  const { req: request } = response;
  // The rest of the body must not be read as the next call, and the answer must not wait for it.
  if (!request.complete) {
    request.resume();
    response.setHeader('Connection', 'close');
  }
  // All headers at once: setting each one separately costs a lookup of its name.
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text);
}

/** The time for a call in milliseconds, from its parameter `timeout`. An invalid duration counts as absent. */
export function timeToAnswer(url: string): number {
  const [, timeout = ''] = /[?&]timeout=([^&]*)/.exec(url) ?? [];
  return Math.min(parseDuration(timeout) || LONGEST_MS, LONGEST_MS) * SHARE;
}

/**
 * Runs the work of a call with a deadline, which includes the reading of the body, as the API server's timeout does.
 * When the deadline passes or the caller hangs up, the signal aborts, and the promise rejects with an HttpError that
 * names the cause.
 */
async function inTime<T>(
  request: IncomingMessage,
  response: ServerResponse,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const call = new AbortController();
  const milliseconds = timeToAnswer(request.url ?? '');
  const timer = setTimeout(() => call.abort(late(request, milliseconds)), milliseconds);
  const hungUp = () => call.abort(new HttpError(HUNG_UP, 'the client closed the connection'));
  response.once('close', hungUp);
  try {
    return await abortable(work(call.signal), call.signal);
  } finally {
    clearTimeout(timer);
    response.off('close', hungUp);
  }
}

function late(request: IncomingMessage, milliseconds: number): HttpError {
  return request.complete
    ? new HttpError(504, `no answer within ${Math.round(milliseconds)} ms`)
    : new HttpError(408, 'the body did not arrive in time', 'too_slow');
}
