import { expect, test } from '@jest/globals';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/rate-limiting-queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const limiter = exponentialLimiter<string>({ baseMs: 1, maxMs: 1000 });
  return { clock, queue: new WorkQueue<string>({ clock, limiter }) };
}

test('addRateLimited backs off each key separately, and returns the delay, until the key is forgotten', () => {
  const { queue } = setup();
  expect([queue.addRateLimited('one'), queue.addRateLimited('one')]).toEqual([1, 2]);
  expect(queue.numRequeues('one')).toBe(2);
  expect([queue.addRateLimited('two'), queue.addRateLimited('two')]).toEqual([1, 2]);
  queue.forget('one');
  expect(queue.numRequeues('one')).toBe(0);
  expect(queue.addRateLimited('one')).toBe(1);
  expect(queue.numRequeues('two')).toBe(2);
});

test('addRateLimited adds the key after its delay', async () => {
  const { clock, queue } = setup();
  queue.addRateLimited('one');
  expect(queue.length).toBe(0);
  clock.advance(1);
  expect(await queue.get()).toBe('one');
});

test('add ignores the failures of its key', async () => {
  const { queue } = setup();
  for (let failure = 0; failure < 20; failure++) queue.addRateLimited('one');
  queue.add('one');
  expect(await queue.get()).toBe('one');
});
