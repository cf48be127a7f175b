import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { every } from '../util/every.ts';
import type { Clock, Timer } from '../workqueue/clock.ts';

/** How much garbage the heap may hold before a collection. */
const SLACK_BYTES = 40 * 2 ** 20;
/** The least growth: more frequent collections cost more CPU than the memory is worth. */
const LEAST_PERCENT = 20;
const EVERY_MS = 5_000;
/** A process that allocates less in that time is idle: probes and bookmarks take up to 2 MB. */
const IDLE_BYTES = 4 * 2 ** 20;
/** Or less than this part of its heap: the events of more objects take more. */
const IDLE_SHARE = 0.1;
/** A collection takes 5 ms for each MB of the heap. Beyond this, reviews would wait too long. */
const LARGEST_BYTES = 200 * 2 ** 20;
/** About what the start of a small process allocates, and of one that begins to lead. */
const MUCH_BYTES = 2 ** 30;
/** V8's default, in collections. */
const BYTECODE_OLD_AGE = 6;

/** By how many percent a heap of this size may grow until the next collection. */
export function growthPercent(usedBytes: number): number {
  return Math.max(LEAST_PERCENT, Math.round((SLACK_BYTES / usedBytes) * 100));
}

/**
 * Limits the garbage in the heap to a fixed amount, however many objects are watched. On a machine with free memory, V8
 * lets the heap grow to several times its live size: a busy controller would mostly hold outdated states of objects.
 * But a small heap that may only grow a little is collected several times a second by reviews of large pods
 * (test/bench/README.md).
 *
 * When the process is idle for the first time, and whenever it is idle after it has allocated 1 GB, `collect` (with Node's
 * flag --expose-gc) returns what only the start, or that work, needed: V8 leaves holes in its pages. V8 itself would not:
 * it still has the rates of the start, and takes the process for busy.
 */
export function limitHeapGrowth(clock: Clock, collect: NodeJS.GCFunction | undefined = globalThis.gc): Timer {
  let [last, collectedAt] = [0, -MUCH_BYTES];
  const adjust = () => {
    const { used_heap_size: used, total_allocated_bytes: total } = getHeapStatistics();
    setFlagsFromString(`--heap-growing-percent=${growthPercent(used)}`);
    if (total - collectedAt >= MUCH_BYTES && isIdle(total - last, used)) {
      collectedAt = total;
      // Also the code that did not run between two collections of these.
      setFlagsFromString('--bytecode-old-age=1');
      collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      setFlagsFromString(`--bytecode-old-age=${BYTECODE_OLD_AGE}`);
    }
    last = total;
  };
  // Returns free pages to the system, instead of a pool that is as large as the heap has ever been.
  setFlagsFromString('--no-memory-pool');
  adjust();
  return every(clock, EVERY_MS, adjust);
}

/** Whether a process that allocated so much since the last time, and uses so much, can take the time of a collection. */
function isIdle(allocatedBytes: number, usedBytes: number): boolean {
  return allocatedBytes < Math.max(IDLE_BYTES, IDLE_SHARE * usedBytes) && usedBytes < LARGEST_BYTES;
}
