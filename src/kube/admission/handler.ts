import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Logger } from '../util/log.ts';
import { BodyBudget } from './body-budget.ts';
import { inTime } from './deadline.ts';
import { HttpError } from './http-error.ts';
import { parseJson } from './parse-json.ts';
import { readBody, requireJson } from './read-body.ts';
import { formatReview, type ReviewHandler } from './response.ts';
import { parseReview } from './review.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

interface AppOptions {
  /** The webhooks by path. */
  readonly routes: Readonly<Record<string, ReviewHandler>>;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** Answers a call. `isLast` is called when the answer is sent: true closes the connection after it. */
export type WebhookApp = (
  request: IncomingMessage,
  response: ServerResponse,
  isLast: () => boolean,
) => Promise<void>;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/**
 * Turns a call into a review, and the result of a webhook into an answer. A webhook has one path and one method, so a
 * table suffices: a router would take 8 % of the time of a call (docs/adr/0010-webhooks-are-found-in-a-table.md).
 */
export function createApp({ routes, log, metrics, now }: AppOptions): WebhookApp {
  const handlers = new Map(Object.entries(routes));
  const budget = new BodyBudget(now);
  const answer = async (
    handler: ReviewHandler | undefined,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Answer> => {
    try {
      const webhook = called(handler, request, response);
      return {
        status: 200,
        type: 'application/json',
        text: await review(request, response, webhook, budget),
      };
    } catch (err) {
      const { status, message, refusal } =
        err instanceof HttpError ? err : new HttpError(500, 'internal error');
      const { method } = request;
      if (refusal) metrics.refused(refusal);
      if (!(err instanceof HttpError)) log.error({ method, path, status, err }, 'review failed');
      else if (status >= 500 && !refusal)
        log.error({ method, path, status, reason: message }, 'review failed');
      else log.warn({ method, path, status, reason: message }, 'call refused');
      // One plain line. The API server quotes it to the client that created the pod.
      return { status, type: 'text/plain; charset=utf-8', text: `${message}\n` };
    }
  };
  return async (request, response, isLast) => {
    const startedAt = now();
    const path = pathOf(request.url ?? '');
    const handler = handlers.get(path);
    if (handler) metrics.inFlight(path, 1);
    const answered = await answer(handler, path, request, response);
    send(request, response, answered, isLast());
    if (handler) metrics.inFlight(path, -1);
    metrics.answered(handler ? path : '', answered.status, (now() - startedAt) / 1000);
  };
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The webhook for a call. @throws HttpError 404 or 405. */
function called(
  handler: ReviewHandler | undefined,
  { method }: IncomingMessage,
  response: ServerResponse,
): ReviewHandler {
  if (!handler) throw new HttpError(404, 'unknown path');
  if (method === 'POST') return handler;
  response.setHeader('Allow', 'POST');
  throw new HttpError(405, 'expected POST');
}

/** The API server's timeout includes the reading of the body. */
function review(
  request: IncomingMessage,
  response: ServerResponse,
  handler: ReviewHandler,
  budget: BodyBudget,
): Promise<string> {
  return inTime(request, response, async (signal) => {
    requireJson(request);
    const body = await readBody(request, budget);
    budget.beginWork(body.length);
    try {
      const admission = parseReview(parseJson(body));
      return formatReview(admission.uid, await handler(admission, signal));
    } finally {
      budget.endWork(body.length);
    }
  });
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, text }: Answer,
  isLast: boolean,
): void {
  if (response.destroyed) return;
  const headers: OutgoingHttpHeaders = { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) };
  // The rest of the body must not be read as the next call, and the answer must not wait for it.
  if (!request.complete) request.resume();
  if (isLast || !request.complete) headers.Connection = 'close';
  // All headers at once: setting each one separately costs a lookup of its name.
  response.writeHead(status, headers).end(text);
}
