import { setTimeout as delay } from 'node:timers/promises';

const BOUND_MS = 60_000;
const EVERY_MS = 50;

/**
 * Resolves once the condition holds; for what no event tells of. Rejects after a minute or `boundMs`, saying what never
 * came. A condition that takes a program is asked less often, so as not to take the machine from what it waits for.
 */
export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  { boundMs = BOUND_MS, everyMs = EVERY_MS } = {},
): Promise<void> {
  const deadline = performance.now() + boundMs;
  let last: unknown;
  for (let began = performance.now(); began < deadline; began = performance.now()) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    await delay(Math.max(everyMs, performance.now() - began));
  }
  throw new Error(`waited ${boundMs / 1000} s in vain until ${what}`, { cause: last });
}
