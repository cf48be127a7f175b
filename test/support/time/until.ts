import { setImmediate as eventLoopTurn } from 'node:timers/promises';

/** Lets the event loop turn until the condition holds; one that never does ends in jest's own timeout. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await eventLoopTurn();
}
