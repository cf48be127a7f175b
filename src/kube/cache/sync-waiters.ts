import { abortable } from '../util/linked-abort.ts';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The callers that wait for an informer to sync. */
export class SyncWaiters {
  readonly #waiters = new Set<Waiter>();

  /** Resolves at `synced()`; rejects at `stopped()`, or with the signal's reason when that aborts first. */
  async wait(signal: AbortSignal): Promise<void> {
    let waiter: Waiter | undefined;
    const synced = new Promise<void>((resolve, reject) => {
      waiter = { resolve, reject };
      this.#waiters.add(waiter);
    });
    await abortable(synced, signal).finally(() => waiter && this.#waiters.delete(waiter));
  }

  synced(): void {
    for (const { resolve } of this.#waiters) resolve();
  }

  stopped(): void {
    for (const { reject } of this.#waiters) reject(stoppedUnsynced());
  }
}

export function stoppedUnsynced(): Error {
  return new Error('the informer stopped before it synced');
}
