import { describe, expect, test } from '@jest/globals';
import { backoff } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const delays = ({ next }: ReturnType<typeof backoff>, count: number) => Array.from({ length: count }, next);

describe("the reflector's back-off", () => {
  test('doubles from 0.8 s to 3.2 s', () => {
    const growing = backoff({ clock: new FakeClock(), random: () => 0 });
    expect(delays(growing, 5)).toEqual([800, 1600, 3200, 3200, 3200]);
  });

  test('adds jitter of at most the delay', () => {
    const growing = backoff({ clock: new FakeClock(), random: () => 0.5 });
    expect(delays(growing, 2)).toEqual([1200, 2400]);
  });

  test('starts over after two minutes without a failure', () => {
    const clock = new FakeClock();
    const growing = backoff({ clock, random: () => 0 });
    delays(growing, 3);
    clock.advance(120_000);
    expect(growing.next()).toBe(3200);
    clock.advance(120_001);
    expect(delays(growing, 2)).toEqual([800, 1600]);
  });

  test('uses the delays in its options', () => {
    const growing = backoff({ clock: new FakeClock(), random: () => 0, firstMs: 10, maxMs: 25 });
    expect(delays(growing, 4)).toEqual([10, 20, 25, 25]);
  });
});
