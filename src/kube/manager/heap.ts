import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { every } from '../util/every.ts';
import type { Clock, Timer } from '../workqueue/clock.ts';

/** How much garbage the heap may hold before it is collected. */
const SLACK_BYTES = 40 * 2 ** 20;
/** Collecting more often than that costs more CPU than it saves memory. */
const LEAST_PERCENT = 20;
const EVERY_MS = 5_000;

/** By how many percent a heap of this size may grow until it is collected again. */
export function growthPercent(usedBytes: number): number {
  return Math.max(LEAST_PERCENT, Math.round((SLACK_BYTES / usedBytes) * 100));
}

/**
 * Keeps the garbage in the heap to the same amount, however many objects are watched. By itself V8 lets the heap grow to
 * several times of what is alive in it where the machine has memory to spare, and most of what a busy controller held
 * then would be states of objects from before its last write to them; a small heap that may grow by little only, on the
 * other hand, is collected several times a second by reviews of large pods (test/bench/README.md).
 */
export function limitHeapGrowth(clock: Clock): Timer {
  const adjust = () =>
    setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size)}`);
  // Pages that are free go back to the system, and not into a pool that is as large as the heap has ever been.
  setFlagsFromString('--no-memory-pool');
  adjust();
  return every(clock, EVERY_MS, adjust);
}
