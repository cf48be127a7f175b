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
  /** The webhooks by the path at which each is called. */
  readonly routes: Readonly<Record<string, ReviewHandler>>;
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** Answers a call. Asked when the answer is sent, `isLast` says whether the connection is to be closed after it. */
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
 * How a call becomes a review, and what a webhook says an answer. A webhook has one path and one method, for which a
 * table does: a router would take 8 % of the time of a call (docs/adr/0010-webhooks-are-found-in-a-table.md).
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
      // One plain line. The API server quotes it to whoever asked for the pod.
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

/** The webhook that is called, if there is one and it is called as webhooks are. */
function called(
  handler: ReviewHandler | undefined,
  { method }: IncomingMessage,
  response: ServerResponse,
): ReviewHandler {
  if (!handler) throw new HttpError(404, 'no such path');
  if (method === 'POST') return handler;
  response.setHeader('Allow', 'POST');
  throw new HttpError(405, 'only POST');
}

/** The time that the API server gives covers the reading of the body too. */
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
  // What is left of the body must not be taken for the next call, nor be waited for.
  if (!request.complete) request.resume();
  if (isLast || !request.complete) headers.Connection = 'close';
  // At once: a header that is set by itself costs a look for its name.
  response.writeHead(status, headers).end(text);
}
