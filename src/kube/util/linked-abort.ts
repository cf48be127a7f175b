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
