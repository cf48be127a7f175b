import { describe, expect, test } from '@jest/globals';
import { maxTimerMs } from '../../../../src/kube/workqueue/clock.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>({ clock, limiter: exponentialLimiter(1, 1000) });
  /** Takes all queued keys, and marks them as done. */
  const takeAll = async () => {
    const keys: (string | undefined)[] = [];
    while (queue.length > 0) keys.push(await queue.get());
    for (const key of keys) queue.done(key ?? '');
    return keys;
  };
  return { clock, queue, takeAll };
}

describe('addAfter', () => {
  test('adds the key after its delay, and only once', async () => {
    const { clock, queue, takeAll } = setup();
    queue.addAfter('foo', 50);
    clock.advance(49);
    expect(queue.length).toBe(0);
    clock.advance(1);
    expect(await takeAll()).toEqual(['foo']);
    clock.advance(10_000);
    expect(queue.length).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test('keeps the earlier of two deadlines of a key, in either order', async () => {
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

  test('waits longer than the longest timer of Node', () => {
    const { clock, queue } = setup();
    queue.addAfter('foo', 2 * maxTimerMs);
    clock.advance(2 * maxTimerMs - 1);
    expect(queue.length).toBe(0);
    clock.advance(1);
    expect(queue.length).toBe(1);
  });
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
  expect([queue.addRateLimited('one'), queue.addRateLimited('one')]).toEqual([1, 2]);
  expect([queue.addRateLimited('two'), queue.addRateLimited('two')]).toEqual([1, 2]);
  queue.forget('one');
  expect(queue.addRateLimited('one')).toBe(1);
});
