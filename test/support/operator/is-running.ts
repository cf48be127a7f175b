import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Whether a process of this id runs. One that has ended, and that nobody has waited for yet, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/** Resolves when none of them runs. A process that is not ours has no event for its end: hence the polling. */
export async function untilNoneRuns(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await delay(5);
}

/** The state follows the command's name, which is in parentheses and may hold any character: proc(5). */
function isZombie(pid: number): boolean {
  try {
    return /^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Gone meanwhile, or a system without /proc, where init is quick.
    return false;
  }
}
