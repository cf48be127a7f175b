import { describe, expect, test } from '@jest/globals';
import {
  defaultControllerLimiter,
  exponentialLimiter,
  fastSlowLimiter,
  maxOfLimiter,
  maxWaitLimiter,
  type RateLimiter,
  tokenBucketLimiter,
} from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const delays = (limiter: RateLimiter<string>, key: string, times: number) =>
  Array.from({ length: times }, () => limiter.when(key));

describe('exponentialLimiter', () => {
  test('doubles the delay with each failure of a key, per key, until it is forgotten', () => {
    const limiter = exponentialLimiter<string>({ baseMs: 1, maxMs: 1000 });
    expect(delays(limiter, 'one', 5)).toEqual([1, 2, 4, 8, 16]);
    expect(limiter.numRequeues('one')).toBe(5);
    expect(delays(limiter, 'two', 2)).toEqual([1, 2]);
    expect(limiter.numRequeues('two')).toBe(2);
    limiter.forget('one');
    expect(limiter.numRequeues('one')).toBe(0);
    expect(limiter.when('one')).toBe(1);
    expect(limiter.numRequeues('two')).toBe(2);
  });

  test.each([
    { baseMs: 1, maxMs: 1_000_000, failures: 5, delay: 32 },
    { baseMs: 1, maxMs: 1_000_000, failures: 1000, delay: 1_000_000 },
    { baseMs: 60_000, maxMs: 3_600_000_000, failures: 2, delay: 240_000 },
    { baseMs: 60_000, maxMs: 3_600_000_000, failures: 1000, delay: 3_600_000_000 },
    { baseMs: 5, maxMs: 1_000_000, failures: 5000, delay: 1_000_000 },
  ])(
    'does not overflow: base $baseMs, after $failures failures $delay',
    ({ failures, delay, ...options }) => {
      const limiter = exponentialLimiter<string>(options);
      expect(delays(limiter, 'key', failures + 1).at(-1)).toBe(delay);
    },
  );
});

test('fastSlowLimiter uses the slow delay after some failures of a key, until it is forgotten', () => {
  const limiter = fastSlowLimiter<string>({ fastMs: 5, slowMs: 10_000, maxFastAttempts: 3 });
  expect(delays(limiter, 'one', 5)).toEqual([5, 5, 5, 10_000, 10_000]);
  expect(limiter.numRequeues('one')).toBe(5);
  expect(delays(limiter, 'two', 2)).toEqual([5, 5]);
  expect(limiter.numRequeues('two')).toBe(2);
  limiter.forget('one');
  expect(limiter.numRequeues('one')).toBe(0);
  expect(limiter.when('one')).toBe(5);
});

test('maxOfLimiter takes the longest delay and the most requeues, and forgets in all limiters', () => {
  const limiter = maxOfLimiter<string>(
    fastSlowLimiter({ fastMs: 5, slowMs: 3000, maxFastAttempts: 3 }),
    exponentialLimiter({ baseMs: 1, maxMs: 1000 }),
  );
  expect(delays(limiter, 'one', 5)).toEqual([5, 5, 5, 3000, 3000]);
  expect(limiter.numRequeues('one')).toBe(5);
  expect(delays(limiter, 'two', 4)).toEqual([5, 5, 5, 3000]);
  limiter.forget('one');
  expect(limiter.numRequeues('one')).toBe(0);
  expect(limiter.when('one')).toBe(5);
});

test('maxWaitLimiter cuts only longer delays, and leaves the count to the wrapped limiter', () => {
  const inner = exponentialLimiter<string>({ baseMs: 100, maxMs: 1_000_000 });
  const limiter = maxWaitLimiter(inner, 500);
  expect(delays(limiter, 'one', 5)).toEqual([100, 200, 400, 500, 500]);
  expect(limiter.numRequeues('one')).toBe(5);
  limiter.forget('one');
  expect(inner.numRequeues('one')).toBe(0);
});

describe('tokenBucketLimiter', () => {
  test('lets a burst through at once, then spaces the keys', () => {
    const limiter = tokenBucketLimiter<string>({ clock: new FakeClock(), ratePerSecond: 10, burst: 3 });
    expect(delays(limiter, 'any', 5)).toEqual([0, 0, 0, 100, 200]);
    expect(limiter.numRequeues('any')).toBe(0);
  });

  test('refills over time, up to the burst', () => {
    const clock = new FakeClock();
    const limiter = tokenBucketLimiter<string>({ clock, ratePerSecond: 10, burst: 3 });
    delays(limiter, 'any', 5);
    clock.advance(300);
    expect(delays(limiter, 'any', 2)).toEqual([0, 100]);
    clock.advance(3_600_000);
    expect(delays(limiter, 'any', 4)).toEqual([0, 0, 0, 100]);
  });
});

describe('defaultControllerLimiter', () => {
  test('gives one key 5 ms, doubling up to 1000 s', () => {
    const clock = new FakeClock();
    const limiter = defaultControllerLimiter<string>(clock);
    const after = Array.from({ length: 20 }, () => {
      clock.advance(1000);
      return limiter.when('key');
    });
    expect(after.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(after.slice(-3)).toEqual([655_360, 1_000_000, 1_000_000]);
  });

  test('gives many keys 10 retries a second after a burst of 100', () => {
    const limiter = defaultControllerLimiter<number>(new FakeClock());
    const after = Array.from({ length: 110 }, (_, key) => limiter.when(key));
    expect(after.slice(0, 100)).toEqual(Array(100).fill(5));
    expect(after.slice(100, 103)).toEqual([100, 200, 300]);
  });
});
