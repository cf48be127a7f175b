import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { every } from '../util/every.ts';
import type { Clock, Timer } from '../workqueue/clock.ts';

/** How much garbage the heap may hold before a collection. */
const SLACK_BYTES = 40 * 2 ** 20;
/** The least growth: more frequent collections cost more CPU than the memory is worth. */
const LEAST_PERCENT = 20;
const EVERY_MS = 5_000;

/** By how many percent a heap of this size may grow until the next collection. */
export function growthPercent(usedBytes: number): number {
  return Math.max(LEAST_PERCENT, Math.round((SLACK_BYTES / usedBytes) * 100));
}

/**
 * Limits the garbage in the heap to a fixed amount, however many objects are watched. On a machine with free memory, V8
 * lets the heap grow to several times its live size: a busy controller would mostly hold outdated states of objects.
 * But a small heap that may only grow a little is collected several times a second by reviews of large pods
 * (test/bench/README.md).
 */
export function limitHeapGrowth(clock: Clock): Timer {
  const adjust = () =>
    setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size)}`);
  // Returns free pages to the system, instead of a pool that is as large as the heap has ever been.
  setFlagsFromString('--no-memory-pool');
  adjust();
  return every(clock, EVERY_MS, adjust);
}
