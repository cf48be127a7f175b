import { readFileSync } from 'node:fs';

/** Whether a process of this id runs. One that has ended, and that nobody has waited for yet, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
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
