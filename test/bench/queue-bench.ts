import { systemClock as clock } from '../../src/kube/workqueue/clock.ts';
import { defaultControllerLimiter } from '../../src/kube/workqueue/rate-limiters.ts';
import { WorkQueue } from '../../src/kube/workqueue/rate-limiting-queue.ts';
import type { Measurement } from './measurement.ts';
import type { BenchSettings } from './settings.ts';
import { ratios, summarise } from './statistics.ts';

/** Keys of one batch: what a resync of a large cluster adds at once. */
const KEYS = 10_000;
const BATCHES = 20;

/** A key through the workqueue (add, get, done) beside a Set that only knows which keys there are. */
export async function queueBench({ runs }: BenchSettings): Promise<readonly Measurement[]> {
  const [ours, floor]: [number[], number[]] = [[], []];
  // The first counts for nothing: V8 compiles.
  for (let run = 0; run <= runs; run++) {
    floor.push(await nanosecondsOf(throughSet));
    ours.push(await nanosecondsOf(throughQueue));
  }
  const [measured, least] = [ours.slice(1), floor.slice(1)];
  return [
    {
      name: 'a key through the workqueue',
      unit: 'ns',
      ours: summarise(measured),
      floor: summarise(least),
      ratio: summarise(ratios(measured, least)),
    },
  ];
}

async function nanosecondsOf(batch: (keys: readonly string[]) => Promise<void>): Promise<number> {
  const keys = Array.from({ length: KEYS }, (_, i) => `namespace/name-${i}`);
  const start = performance.now();
  for (let i = 0; i < BATCHES; i++) await batch(keys);
  return ((performance.now() - start) * 1e6) / (KEYS * BATCHES);
}

async function throughQueue(keys: readonly string[]): Promise<void> {
  const queue = new WorkQueue<string>({ clock, limiter: defaultControllerLimiter(clock) });
  for (const key of keys) queue.add(key);
  for (let i = 0; i < keys.length; i++) {
    const key = await queue.get();
    if (key !== undefined) queue.done(key);
  }
}

async function throughSet(keys: readonly string[]): Promise<void> {
  const waiting = new Set<string>();
  for (const key of keys) waiting.add(key);
  for (const key of waiting) {
    await key;
    waiting.delete(key);
  }
}
