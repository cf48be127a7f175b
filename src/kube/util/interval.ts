import type { Clock, Timer } from '../workqueue/clock.ts';

/** Calls `fire` every period until cancelled. */
export function interval(clock: Clock, periodMs: number, fire: () => void): Timer {
  let timer = clock.setTimer(periodMs, again);
  function again(): void {
    timer = clock.setTimer(periodMs, again);
    fire();
  }
  return { cancel: () => timer.cancel() };
}
