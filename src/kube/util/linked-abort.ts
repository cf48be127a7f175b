/** A controller of its own that also aborts with an outer signal. */
export interface LinkedAbort {
  readonly controller: AbortController;
  /** To be called when done: nothing is left on the outer signal, which may live as long as the process. */
  unlink(): void;
}

/** As AbortSignal.any(), which however keeps an entry in the outer signal until it happens to be collected. */
export function linkedAbort(outer: AbortSignal | undefined): LinkedAbort {
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  return { controller, unlink: () => outer?.removeEventListener('abort', onAbort) };
}

/** The promise, or the signal's reason as soon as it aborts: for work that knows no signal. Leaves no listener. */
export function abortable<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves when the signal aborts, at once where it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
