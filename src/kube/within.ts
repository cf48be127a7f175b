import type { Clock } from '../workqueue/clock.ts';
import { TransportError } from './api-error.ts';

/**
 * Runs the call under a signal that aborts with the outer one, and after `ms` with a TransportError `ETIMEDOUT`: the
 * bound of something that is made of several requests and the client's own retries. Leaves no timer and no listener.
 */
export async function within<R>(
  clock: Clock,
  ms: number,
  outer: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer?.reason);
  const timer = clock.setTimer(ms, () =>
    controller.abort(new TransportError(`not done within ${ms} ms`, 'ETIMEDOUT', undefined)),
  );
  outer?.addEventListener('abort', onAbort, { once: true });
  try {
    return await call(controller.signal);
  } finally {
    timer.cancel();
    outer?.removeEventListener('abort', onAbort);
  }
}
