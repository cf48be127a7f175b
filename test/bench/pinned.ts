import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

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

function allow(pid: number, cores: string): void {
  if (canPin()) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)]);
}

/** The command, started on that core where that can be said. */
export function pinned(core: number, command: readonly string[]): readonly string[] {
  return canPin() ? ['taskset', '--cpu-list', String(core), ...command] : command;
}
