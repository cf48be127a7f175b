import { expect, test } from '@jest/globals';
import { sleep } from '../../../../src/kube/util/sleep.ts';
import type { Timer } from '../../../../src/kube/workqueue/clock.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/** Each timer fires a little early, as Node's timers may. */
class EarlyClock extends FakeClock {
  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(delayMs > 1 ? delayMs - 0.5 : delayMs, fire);
  }
}

test('sleep never ends before its delay, even when a timer fires early', async () => {
  const clock = new EarlyClock();
  let woke = false;
  const sleeping = sleep(clock, 1000).then(() => (woke = true));
  await clock.advanceAsync(999.9);
  expect(woke).toBe(false);
  await clock.advanceAsync(0.1);
  await sleeping;
  expect(clock.pendingTimers).toBe(0);
});

test('sleep leaves no timer when it is aborted between two timers', async () => {
  const clock = new EarlyClock();
  const stop = new AbortController();
  const sleeping = sleep(clock, 1000, stop.signal);
  await clock.advanceAsync(999.9);
  stop.abort(new Error('stop'));
  await expect(sleeping).rejects.toThrow('stop');
  expect(clock.pendingTimers).toBe(0);
});
