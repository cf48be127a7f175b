import { hasCode } from './has-code.ts';

/** Sends SIGKILL to what runs in a process group. That there is nothing, as mostly, is an error to kill(2) only. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (err) {
    // macOS answers EPERM for a group of zombies.
    if (!hasCode(err, 'ESRCH', 'EPERM')) throw err;
  }
}
