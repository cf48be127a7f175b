import { TransportError } from '../api/api-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { abortable, linkedAbort } from './linked-abort.ts';

/**
 * Runs the call under a signal that aborts with the outer one, and after `ms` with a TransportError `ETIMEDOUT` that
 * names `what`. Rejects as soon as the signal aborts, even when the call ignores it: undici ends an aborted request
 * only when its connect ends, 10 s later.
 */
export async function withTimeout<R>(
  clock: Clock,
  ms: number,
  outer: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<R>,
  what = 'call',
): Promise<R> {
  outer?.throwIfAborted();
  const { controller, unlink } = linkedAbort(outer);
  const timer = clock.setTimer(ms, () =>
    controller.abort(new TransportError(`${what}: timed out after ${ms} ms`, 'ETIMEDOUT', undefined)),
  );
  try {
    return await abortable(call(controller.signal), controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    timer.cancel();
    unlink();
  }
}
