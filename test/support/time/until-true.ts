import { setTimeout as pause } from 'node:timers/promises';

/** Asks again and again, until it is so; what never is ends in jest's own timeout. For what tells of itself only when asked. */
export async function untilTrue(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(20);
}
