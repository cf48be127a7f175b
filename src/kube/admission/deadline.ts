import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from './http-error.ts';

/** The API server's default for timeoutSeconds. Also the maximum, since any client can send the parameter. */
const LONGEST_MS = 10_000;
/** The rest is for the delivery of the answer, so that the caller gets it instead of a timeout. */
const SHARE = 0.9;
/** Never sent: nginx's status for calls whose caller hung up. */
const HUNG_UP = 499;

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/**
 * The time for a call in milliseconds, from its parameter `timeout`, which the API server writes as a Go duration
 * (`5s`, `1m0s`). An invalid duration counts as absent.
 */
export function timeToAnswer(url: string): number {
  const [, timeout = ''] = /[?&]timeout=([^&]*)/.exec(url) ?? [];
  return Math.min(parseDuration(timeout) ?? LONGEST_MS, LONGEST_MS) * SHARE;
}

function parseDuration(text: string): number | undefined {
  if (!/^([0-9]+(\.[0-9]+)?(h|ms|m|s))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(/([0-9.]+)(h|ms|m|s)/g)) {
    total += Number(amount) * (UNITS[unit] ?? 0);
  }
  return total > 0 ? total : undefined;
}

/** Returns a signal that aborts at the deadline of a call. It is created on demand, since few calls have to wait. */
export type CallSignal = () => AbortSignal;

/**
 * Runs the work of a call with a deadline. When the deadline passes or the caller hangs up, the signal aborts, and the
 * promise rejects with an HttpError that names the cause. Most calls are answered within one turn of the event loop;
 * only for the others, the clock and the caller are watched.
 */
export function inTime<T>(
  request: IncomingMessage,
  response: ServerResponse,
  work: (signal: CallSignal) => Promise<T>,
): Promise<T> {
  const cameAt = performance.now();
  return new Promise<T>((resolve, reject) => {
    let controller: AbortController | undefined;
    let over: HttpError | undefined;
    let timer: NodeJS.Timeout | undefined;
    const settle = () => {
      clearImmediate(turn);
      if (!timer) return;
      clearTimeout(timer);
      response.off('close', hungUp);
    };
    const end = (err: HttpError) => {
      settle();
      over = err;
      reject(err);
      controller?.abort(err);
    };
    const signal = () => {
      controller ??= new AbortController();
      if (over) controller.abort(over);
      return controller.signal;
    };
    const hungUp = () => end(new HttpError(HUNG_UP, 'the client closed the connection'));
    const turn = setImmediate(() => {
      if (response.destroyed) return hungUp();
      const milliseconds = timeToAnswer(request.url ?? '');
      // A turn may be long when many calls arrive at once.
      const left = Math.max(1, milliseconds - (performance.now() - cameAt));
      timer = setTimeout(() => end(late(request, milliseconds)), left);
      response.once('close', hungUp);
    });
    work(signal).then(
      (answer) => {
        settle();
        resolve(answer);
      },
      (err) => {
        settle();
        reject(err);
      },
    );
  });
}

function late(request: IncomingMessage, milliseconds: number): HttpError {
  return request.complete
    ? new HttpError(504, `no answer within ${Math.round(milliseconds)} ms`)
    : new HttpError(408, 'the body did not arrive in time', { refusal: 'too_slow' });
}
