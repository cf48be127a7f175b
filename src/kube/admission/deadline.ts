import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from './http-error.ts';

/** What the API server takes for a webhook that sets no timeoutSeconds; and no caller gets more, as anyone can ask for it. */
const LONGEST_MS = 10_000;
/** The rest is for the answer to get there, so that it says more than that time was up. */
const SHARE = 0.9;
/** Never sent: the name that nginx gave to calls whose caller has gone. */
const HUNG_UP = 499;

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/**
 * How many milliseconds there are for a call, by its parameter `timeout`, which the API server writes as a
 * Go duration (`5s`, `1m0s`). What is no duration counts as absent.
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

/** Aborted when the time for a call is up; made when it is asked for, as hardly any call has to wait for something. */
export type CallSignal = () => AbortSignal;

/**
 * Runs the work of a call, which must end in time: when it does not, or the caller hangs up, its signal is
 * aborted, and an HttpError says which of them it was. Most calls are answered within a turn of the event loop, and
 * only of those that are not are the clock and the caller watched.
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
    const hungUp = () => end(new HttpError(HUNG_UP, 'the caller hung up'));
    const turn = setImmediate(() => {
      if (response.destroyed) return hungUp();
      const milliseconds = timeToAnswer(request.url ?? '');
      // A turn may take its time where many calls came at once.
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
    : new HttpError(408, 'the body did not come in time', { refusal: 'too_slow' });
}
