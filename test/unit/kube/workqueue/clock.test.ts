import { describe, expect, test } from '@jest/globals';
import { maxTimerMs, systemClock } from '../../../../src/kube/workqueue/clock.ts';

describe('the system clock', () => {
  test('fires its timers, but not cancelled ones, and does not fire at once those too long for Node', async () => {
    const fired: string[] = [];
    const tooLong = systemClock.setTimer(maxTimerMs + 1, () => fired.push('too long'));
    systemClock.setTimer(1, () => fired.push('cancelled')).cancel();
    await new Promise<void>((resolve) => systemClock.setTimer(5, resolve));
    tooLong.cancel();
    expect(fired).toEqual([]);
  });
});
