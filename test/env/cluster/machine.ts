import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { runCommand } from '../control-plane/run-command.ts';
import type { CommandLine, Supervisor } from '../control-plane/supervisor.ts';
import type { ExitStatus } from '../control-plane/supervisor-protocol.ts';
import { SERVICE_RANGE } from './addresses.ts';
import { searchPath } from './search-path.ts';

/** A machine within this one, which machine.sh runs: see there. */
export interface Machine {
  /** Of its cgroups, and its host name. */
  readonly name: string;
  /** Of its first process, as it is known here. */
  readonly pid: number;
  /** Holds all that it keeps on disk; goes with it. */
  readonly directory: string;
  /** Its own address, to be reached from here. */
  readonly address: string;
  /** Resolves when all of it is gone, whoever ended it. */
  readonly gone: Promise<void>;
  /** The path outside of a directory inside that is there for both: see machine.sh. */
  outside(path: string): string;
  /** The same command, to be run in it. */
  readonly inside: (commandLine: CommandLine) => CommandLine;
}

/** A directory of the machine outside that is laid over inside, and so cannot hold what the node needs to see. */
const LAID_OVER = ['/etc', '/opt', '/run', '/var/cache', '/var/lib', '/var/log'];
/** Until processes have ended, mounts are gone and files are removed. */
const STOP_TIMEOUT_MS = 60_000;

/** Boots a machine under a supervisor, with `init` as its first process. Rejects with what the script said where it cannot. */
export async function startMachine(supervisor: Supervisor, init: string): Promise<Machine> {
  const id = randomBytes(3).toString('hex');
  const name = `envoy-initializer-cluster-${id}`;
  const directory = join(tmpdir(), name);
  requireVisible(directory);
  const lines: string[] = [];
  let onReady: (words: readonly string[]) => void = () => {};
  const ready = new Promise<readonly string[]>((resolve) => {
    onReady = resolve;
  });
  const process = await supervisor.start({
    name: 'machine',
    command: 'setpriv',
    // However the supervisor ends, the script hears of it.
    args: ['--pdeathsig', 'TERM', 'sh', script(), 'run', name, directory, init, SERVICE_RANGE],
    env: { ...globalThis.process.env, PATH: searchPath() },
    output: {
      onLine: (line) => {
        const [word, ...words] = line.split(' ');
        if (word === 'ready') onReady(words);
        else lines.push(line);
      },
    },
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  // There is something left where the script was killed.
  const gone = process.exited.then(() => sweepMachines(name));
  const failed = process.exited.then((status) => Promise.reject(explain(status, lines)));
  const [pid = '', address = ''] = await Promise.race([ready, failed]);
  // Whoever stops the cluster hears of it.
  for (const ending of [failed, gone]) ending.catch(() => {});
  return {
    ...{ name, pid: Number(pid), directory, address, gone },
    outside: (path) => join(directory, path),
    ...insideMachine(Number(pid)),
  };
}

/** What runs commands in a machine, by the process id of its first process. */
export function insideMachine(pid: number): Pick<Machine, 'inside'> {
  const enter = ['--target', `${pid}`, '--mount', '--net', '--pid', '--ipc', '--uts', '--'];
  return {
    inside: ({ command, args }) => ({ command: 'nsenter', args: [...enter, command, ...args] }),
  };
}

/** Removes what machines left that were killed together with all that was to clean up after them: all, or one that is about to end. */
export async function sweepMachines(name?: string): Promise<void> {
  const args = [script(), 'sweep', ...(name === undefined ? [] : [name])];
  const { code, stderr } = await runCommand('sh', args, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`removing what an earlier cluster left failed: ${stderr.trim()}`);
}

function script(): string {
  return join(projectDirectory(), 'test', 'env', 'cluster', 'machine.sh');
}

function requireVisible(directory: string): void {
  const isIn = (path: string, parent: string) => path === parent || path.startsWith(`${parent}/`);
  const lost = [
    ...LAID_OVER.filter((parent) => isIn(directory, parent)).map(() => `${directory} (TMPDIR)`),
    ...[projectDirectory(), cacheRoot(process.env), process.execPath].filter((path) => isIn(path, '/run')),
  ];
  if (lost.length === 0) return;
  throw new Error(
    `a node has ${LAID_OVER.join(', ')} for itself, so it would not see ${lost.join(', ')}: use another directory`,
  );
}

function explain({ code, signal }: ExitStatus, lines: readonly string[]): Error {
  return new Error(`the node's machine ended with ${signal ?? `code ${code}`}: ${lines.join('\n')}`);
}
