import { TransportError } from '../api/api-error.ts';
import type { Clock } from '../workqueue/clock.ts';

/**
 * A new AbortController that also aborts with an outer signal. Call `unlink` when done: it removes the listener from the
 * outer signal, which may live as long as the process. AbortSignal.any() keeps an entry there until garbage collection.
 */
export function linkedAbort(outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  return { controller, unlink: () => outer?.removeEventListener('abort', onAbort) };
}

/** Settles as the promise, or rejects with the signal's reason as soon as it aborts. For work that takes no signal. */
export function abortable<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves when the signal aborts; at once if it has aborted already. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Resolves after the delay, never sooner; rejects with the signal's reason as soon as it aborts. */
export async function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer(delayMs, resolve);
  await (signal ? abortable(promise, signal) : promise).finally(() => timer.cancel());
}

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
    controller.abort(new TransportError(`${what}: timed out after ${ms} ms`, 'ETIMEDOUT')),
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
