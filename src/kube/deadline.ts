import type { Clock } from '../workqueue/clock.ts';
import { asTransportError, TransportError } from './api-error.ts';
import { linkedAbort } from './linked-abort.ts';

export interface Deadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** What is being done, for the error. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs `send` under a signal that aborts with the caller's, or when the time is up.
 * @throws TransportError `ETIMEDOUT` when it is; the caller's reason when that aborted; what `send` throws.
 */
export async function withDeadline<R>(
  { clock, timeoutMs, what, signal }: Deadline,
  send: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const { controller, unlink } = linkedAbort(signal);
  const timer = clock.setTimer(timeoutMs, () => {
    controller.abort(new TransportError(`${what}: no answer within ${timeoutMs} ms`, 'ETIMEDOUT', undefined));
  });
  try {
    controller.signal.throwIfAborted();
    return await send(controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw asTransportError(error, what);
  } finally {
    timer.cancel();
    unlink();
  }
}
