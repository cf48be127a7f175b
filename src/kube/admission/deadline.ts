import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseDuration } from '../../util/duration.ts';
import { abortable } from '../util/linked-abort.ts';
import { HttpError } from './http-error.ts';

/** The API server's default for timeoutSeconds. Also the maximum, since any client can send the parameter. */
const LONGEST_MS = 10_000;
/** The rest is for the delivery of the answer, so that the caller gets it instead of a timeout. */
const SHARE = 0.9;
/** Never sent: nginx's status for calls whose caller hung up. */
const HUNG_UP = 499;

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
export async function inTime<T>(
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
    : new HttpError(408, 'the body did not arrive in time', { refusal: 'too_slow' });
}
