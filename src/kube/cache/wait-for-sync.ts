import type { Informer } from './informer.ts';

/** Waits until all caches have synced. Resolves with false if the signal aborts first; rejects if an informer stops. */
export async function waitForSync(
  informers: readonly Pick<Informer<never>, 'waitForSync'>[],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
