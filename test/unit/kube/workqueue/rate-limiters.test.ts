import { describe, expect, test } from '@jest/globals';
import {
  defaultControllerLimiter,
  exponentialLimiter,
  type RateLimiter,
} from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const delays = (limiter: RateLimiter<string>, key: string, times: number) =>
  Array.from({ length: times }, () => limiter.when(key));

describe('exponentialLimiter', () => {
  test('doubles the delay with each failure of a key, per key, until it is forgotten', () => {
    const limiter = exponentialLimiter<string>(1, 1000);
    expect(delays(limiter, 'one', 5)).toEqual([1, 2, 4, 8, 16]);
    expect(delays(limiter, 'two', 2)).toEqual([1, 2]);
    limiter.forget('one');
    expect(limiter.when('one')).toBe(1);
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
