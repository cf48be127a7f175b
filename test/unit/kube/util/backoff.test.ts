import { describe, expect, test } from '@jest/globals';
import { Backoff } from '../../../../src/kube/util/backoff.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const delays = (backoff: Backoff, count: number) => Array.from({ length: count }, () => backoff.next());

describe("the reflector's back-off", () => {
  test('doubles from 0.8 s to 3.2 s', () => {
    const backoff = new Backoff({ clock: new FakeClock(), random: () => 0 });
    expect(delays(backoff, 5)).toEqual([800, 1600, 3200, 3200, 3200]);
  });

  test('adds jitter of at most the delay', () => {
    const backoff = new Backoff({ clock: new FakeClock(), random: () => 0.5 });
    expect(delays(backoff, 2)).toEqual([1200, 2400]);
  });

  test('starts over after two minutes without a failure', () => {
    const clock = new FakeClock();
    const backoff = new Backoff({ clock, random: () => 0 });
    delays(backoff, 3);
    clock.advance(120_000);
    expect(backoff.next()).toBe(3200);
    clock.advance(120_001);
    expect(delays(backoff, 2)).toEqual([800, 1600]);
  });

  test('uses the delays in its options', () => {
    const backoff = new Backoff({ clock: new FakeClock(), random: () => 0, firstMs: 10, maxMs: 25 });
    expect(delays(backoff, 4)).toEqual([10, 20, 25, 25]);
  });
});
