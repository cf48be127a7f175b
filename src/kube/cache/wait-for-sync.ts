import type { Informer } from './informer.ts';

/** Waits until each cache holds what there is. False when told to stop before; rejects when one has ended by itself. */
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
