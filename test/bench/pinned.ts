import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';

/** The server has one core and the load another, so that neither takes the other's time. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

/** Asked at the start: a process that is pinned itself has one core. */
const isPinnable = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** Whether processes can be told where to run: Linux, with util-linux and two cores. */
export function canPin(): boolean {
  return isPinnable;
}

/** All threads of the process run on that core from now on, where that can be said. */
export function pin(pid: number, core: number): void {
  allow(pid, `${core}`);
}

/** Takes back what `pin` did. */
export function unpin(pid: number): void {
  allow(pid, `0-${cpus().length - 1}`);
}

function allow(pid: number, cores: string): void {
  if (canPin()) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)]);
}

/** The command, started on that core where that can be said. */
export function pinned(core: number, command: readonly string[]): readonly string[] {
  return canPin() ? ['taskset', '--cpu-list', String(core), ...command] : command;
}

/** Real-time priority takes root or CAP_SYS_NICE. */
const FIRST = ['chrt', '--fifo', '50'] as const;

/** Whether a process can be told to run before all others on its core. */
export function canGoFirst(): boolean {
  const [file, ...args] = FIRST;
  return spawnSync(file, [...args, 'true']).status === 0;
}

/** The command, started so that it never waits for its core, where that can be said. */
export function first(command: readonly string[]): readonly string[] {
  return canGoFirst() ? [...FIRST, ...command] : command;
}
