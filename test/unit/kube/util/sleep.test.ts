import { expect, test } from '@jest/globals';
import { sleep } from '../../../../src/kube/util/sleep.ts';
import type { Timer } from '../../../../src/kube/workqueue/clock.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

/** As Node's timers may: each fires a little early. */
class EarlyClock extends FakeClock {
  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(delayMs > 1 ? delayMs - 0.5 : delayMs, fire);
  }
}

test('a sleep is never shorter than asked for, also where a timer fires early', async () => {
  const clock = new EarlyClock();
  let woke = false;
  const sleeping = sleep(clock, 1000).then(() => (woke = true));
  await clock.advanceAsync(999.9);
  expect(woke).toBe(false);
  await clock.advanceAsync(0.1);
  await sleeping;
  expect(clock.pendingTimers).toBe(0);
});

test('a sleep that is broken off between two timers leaves none', async () => {
  const clock = new EarlyClock();
  const stop = new AbortController();
  const sleeping = sleep(clock, 1000, stop.signal);
  await clock.advanceAsync(999.9);
  stop.abort(new Error('stop'));
  await expect(sleeping).rejects.toThrow('stop');
  expect(clock.pendingTimers).toBe(0);
});
