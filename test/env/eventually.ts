import { setTimeout as delay } from 'node:timers/promises';

const BOUND_MS = 60_000;
const EVERY_MS = 50;

/** Resolves once the condition holds; for what no event tells of. Rejects after a minute or `boundMs`, saying what never came. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  { boundMs = BOUND_MS, everyMs = EVERY_MS } = {},
): Promise<void> {
  const deadline = performance.now() + boundMs;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    await delay(everyMs);
  }
  throw new Error(`waited ${boundMs / 1000} s in vain until ${what}`, { cause: last });
}
