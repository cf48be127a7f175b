import { expect, test } from '@jest/globals';
import type { QueueMetrics } from '../../../../src/kube/prometheus/index.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/** Records the calls in order. */
class RecordedMetrics implements QueueMetrics {
  adds = 0;
  retries = 0;
  readonly queueDurations: number[] = [];
  readonly workDurations: number[] = [];

  added() {
    this.adds += 1;
  }
  retried() {
    this.retries += 1;
  }
  queueDuration(seconds: number) {
    this.queueDurations.push(seconds);
  }
  workDuration(seconds: number) {
    this.workDurations.push(seconds);
  }
  watch() {}
}

function setup() {
  const clock = new FakeClock();
  const metrics = new RecordedMetrics();
  const limiter = exponentialLimiter<string>(1, 1000);
  return { clock, metrics, queue: new WorkQueue<string>({ clock, limiter, metrics }) };
}

test('a key is measured from add to get and from get to done, and again when it was added meanwhile', async () => {
  const { clock, metrics, queue } = setup();
  queue.add('foo');
  expect([metrics.adds, queue.depth]).toEqual([1, 1]);

  clock.advance(50);
  await queue.get();
  expect(metrics.queueDurations).toEqual([0.05]);
  expect(queue.depth).toBe(0);

  for (let again = 0; again < 5; again++) queue.add('foo');
  expect([metrics.adds, queue.depth]).toEqual([2, 1]);

  clock.advance(25);
  queue.done('foo');
  expect(metrics.workDurations).toEqual([0.025]);
  expect(queue.depth).toBe(1);

  await queue.get();
  expect(metrics.queueDurations).toEqual([0.05, 0.025]);
  expect(queue.unfinishedWorkSeconds).toBe(0);

  clock.advance(1);
  expect(queue.unfinishedWorkSeconds).toBe(0.001);
  expect(queue.longestRunningProcessorSeconds).toBe(0.001);

  queue.done('foo');
  expect(metrics.workDurations).toEqual([0.025, 0.001]);
  expect(queue.unfinishedWorkSeconds).toBe(0);
  expect(queue.longestRunningProcessorSeconds).toBe(0);
});
