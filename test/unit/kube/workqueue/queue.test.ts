import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, jest, test } from '@jest/globals';
import type { QueueMetrics } from '../../../../src/kube/prometheus/index.ts';
import { systemClock } from '../../../../src/kube/workqueue/clock.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { MAX_TIMER_MS } from '../../../../src/util/duration.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const newQueue = <K>() => new WorkQueue<K>({ clock: new FakeClock() });

/** Consumes keys until the queue is shut down; `work` runs between get() and done(). */
async function consume<K>(queue: WorkQueue<K>, work: (key: K) => Promise<void> | void): Promise<void> {
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    await work(key);
    queue.done(key);
  }
}

test('get of a workqueue returns keys in the order in which they were added', async () => {
  const queue = newQueue<string>();
  for (const key of ['c', 'a', 'b']) queue.add(key);
  expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['c', 'a', 'b']);
});

test('get of a workqueue returns a key once, at its first place, when it is added again while it waits', async () => {
  const queue = newQueue<string>();
  for (const key of ['foo', 'bar', 'foo']) queue.add(key);
  expect(queue.length).toBe(2);
  expect(await queue.get()).toBe('foo');
});

test('a key that its worker adds again after shutDown of a workqueue is worked off', async () => {
  const queue = newQueue<number>();
  const tries = new Map<number, number>();
  for (let key = 0; key < 50; key++) queue.add(key);
  const consumers = Array.from({ length: 10 }, () =>
    consume(queue, (key) => {
      const tried = (tries.get(key) ?? 0) + 1;
      tries.set(key, tried);
      if (tried < 2) queue.add(key);
    }),
  );
  await eventLoopTurn();
  queue.shutDown();
  await Promise.all(consumers);
  expect([...tries.values()]).toEqual(Array(50).fill(2));
  expect(queue.length).toBe(0);
});

test('shutDown of a workqueue still hands out queued keys, and then undefined', async () => {
  const queue = newQueue<string>();
  queue.add('foo');
  queue.shutDown();
  queue.add('too late');
  expect([await queue.get(), await queue.get()]).toEqual(['foo', undefined]);
});

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

test('a key of a workqueue that is done is released while others wait behind it', async () => {
  const queue = newQueue<object>();
  const others = Array.from({ length: 10 }, () => ({}));
  // In a separate function, so that no variable here holds the key.
  const workOffAKey = async () => {
    const key = {};
    for (const each of [key, ...others]) queue.add(each);
    await queue.get();
    queue.done(key);
    return new WeakRef(key);
  };
  const reference = await workOffAKey();
  await eventLoopTurn();
  collectGarbage();
  expect(reference.deref()).toBeUndefined();
  expect(await queue.get()).toBe(others[0]);
});

function setup() {
  const clock = new FakeClock();
  const metrics = new RecordedMetrics();
  const queue = new WorkQueue<string>({ clock, metrics });
  /** Takes all queued keys, and marks them as done. */
  const takeAll = async () => {
    const keys: (string | undefined)[] = [];
    while (queue.length > 0) keys.push(await queue.get());
    for (const key of keys) queue.done(key ?? '');
    return keys;
  };
  return { clock, metrics, queue, takeAll };
}

test('addAfter keeps the earlier of two deadlines of a key, in either order', async () => {
  const { clock, queue, takeAll } = setup();
  queue.addAfter('foo', 50);
  queue.addAfter('foo', 70);
  clock.advance(60);
  expect(await takeAll()).toEqual(['foo']);
  clock.advance(20);
  expect(queue.length).toBe(0);

  queue.addAfter('foo', 50);
  queue.addAfter('foo', 30);
  clock.advance(40);
  expect(await takeAll()).toEqual(['foo']);
  clock.advance(20);
  expect(queue.length).toBe(0);
});

test("a timer of the system's clock waits longer than the longest timer of Node", () => {
  jest.useFakeTimers();
  const fire = jest.fn();
  systemClock.setTimer(2 * MAX_TIMER_MS, fire);
  jest.advanceTimersByTime(2 * MAX_TIMER_MS - 1);
  expect(fire).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  expect(fire).toHaveBeenCalledTimes(1);
  jest.useRealTimers();
});

test('shutDown drops the keys that wait, leaves no timer, and accepts no more keys', async () => {
  const { clock, queue } = setup();
  queue.addAfter('foo', 50);
  queue.shutDown();
  queue.addAfter('bar', 50);
  queue.addAfter('baz', 0);
  expect(clock.pendingTimers).toBe(0);
  clock.advance(100);
  expect(await queue.get()).toBeUndefined();
});

test('addRateLimited backs off each key separately, and returns the delay, until the key is forgotten', () => {
  const { queue } = setup();
  expect([queue.addRateLimited('one'), queue.addRateLimited('one')]).toEqual([5, 10]);
  expect([queue.addRateLimited('two'), queue.addRateLimited('two')]).toEqual([5, 10]);
  queue.forget('one');
  expect(queue.addRateLimited('one')).toBe(5);
});

test('addRateLimited doubles the delay of a key up to 1000 s', () => {
  const { clock, queue } = setup();
  const after = Array.from({ length: 20 }, () => {
    clock.advance(1000);
    return queue.addRateLimited('key');
  });
  expect(after.slice(0, 4)).toEqual([5, 10, 20, 40]);
  expect(after.slice(-3)).toEqual([655_360, 1_000_000, 1_000_000]);
});

test('addRateLimited gives many keys 10 retries a second after a burst of 100', () => {
  const { queue } = setup();
  const after = Array.from({ length: 110 }, (_, key) => queue.addRateLimited(`${key}`));
  expect(after.slice(0, 100)).toEqual(Array(100).fill(5));
  expect(after.slice(100, 103)).toEqual([100, 200, 300]);
});

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

test('a key of a workqueue is measured from add to get and to done, and again when added meanwhile', async () => {
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
