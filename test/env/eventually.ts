import { setTimeout as delay } from 'node:timers/promises';

const BOUND_MS = 60_000;
const EVERY_MS = 50;

/** Resolves once the condition holds; for what no event tells of. Rejects after a minute, saying what never came. */
export async function eventually(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + BOUND_MS;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    await delay(EVERY_MS);
  }
  throw new Error(`waited ${BOUND_MS / 1000} s in vain until ${what}`, { cause: last });
}
