import { setTimeout as pause } from 'node:timers/promises';

/** More than any test waits. A look that never ended would keep the process of the tests alive. */
const BOUND_MS = 300_000;

/** Asks again and again, until it is so. For what tells of itself only when asked. */
export async function untilTrue(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + BOUND_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`waited ${BOUND_MS / 1000} s in vain until ${isSo}`);
    await pause(20);
  }
}
