import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { killGroup } from './kill-group.ts';
import type { ProcessSpec, SupervisedProcess } from './supervised-process.ts';
import type { Command, ExitStatus, ProcessReport, Report } from './supervisor-protocol.ts';

/** What is to be told about one process. */
interface Held {
  pid?: number;
  readonly onStarted: (pid: number) => void;
  readonly onFailed: (err: Error) => void;
  readonly onExited: (status: ExitStatus) => void;
  readonly onLine: (line: string) => void;
}

type SupervisorChild = ChildProcessByStdio<Writable, Readable, null>;

/** A command and what it is called with. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Starts a supervisor: it runs until `stop()`, or until this program ends. `elsewhere` makes its command line one that
 * runs it in another process namespace: there its processes have other ids than here, and end with that namespace.
 */
export async function startSupervisor(
  elsewhere?: (commandLine: CommandLine) => CommandLine,
): Promise<Supervisor> {
  // The script stands beside this file, as TypeScript in the sources and as JavaScript in what tsc made of them.
  const extension = extname(fileURLToPath(import.meta.url));
  const script = fileURLToPath(new URL(`supervisor-process${extension}`, import.meta.url));
  const here = { command: process.execPath, args: [script] };
  const { command, args } = elsewhere?.(here) ?? here;
  const child = spawn(command, args, {
    // What NODE_OPTIONS asks for (a debugger's port, a test runner's flags) is meant for this program alone.
    env: { ...process.env, NODE_OPTIONS: undefined },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  await once(child, 'spawn');
  return new Supervisor(child, elsewhere === undefined ? killGroup : () => {});
}

/**
 * Runs processes so that none of them, and no directory made for them, outlives this program, however it ends:
 * a small process in a session of its own (a terminal's Ctrl-C reaches only this program) holds them, and ends
 * them when the pipe from here closes. Stopping is closing that pipe: there is one way out for all cases.
 */
export class Supervisor {
  readonly #child: SupervisorChild;
  readonly #held = new Map<string, Held>();
  readonly #directories: string[] = [];
  readonly #onDirectory: ((path: string) => void)[] = [];
  readonly #killGroup: (pid: number) => void;
  readonly #ended: Promise<void>;

  /** Takes a child that runs supervisor-process.ts, and what ends a process that it left: see `startSupervisor`. */
  constructor(child: SupervisorChild, kill: (pid: number) => void) {
    this.#child = child;
    this.#killGroup = kill;
    // Writing to a supervisor that has ended fails; that it has ended is told by #receive.
    child.stdin.on('error', () => {});
    this.#ended = this.#receive();
  }

  /** Rejects where the command cannot be run, or where a process of this name is running. */
  async start(spec: ProcessSpec): Promise<SupervisedProcess> {
    const { name, command, args = [], env = process.env, cwd = process.cwd(), stopTimeoutMs = 10_000 } = spec;
    this.#assertRunning();
    if (this.#held.has(name)) throw new Error(`${name} is running already`);
    const output = spec.output === undefined ? 'nothing' : 'file' in spec.output ? spec.output : 'lines';
    const onLine = spec.output && 'onLine' in spec.output ? spec.output.onLine : () => {};
    return new Promise((resolve, onFailed) => {
      const exited = new Promise<ExitStatus>((onExited) => {
        const onStarted = (pid: number) => {
          const kill = (signal: NodeJS.Signals = 'SIGTERM') => this.#kill(name, pid, signal);
          resolve({ name, pid, exited, kill });
        };
        this.#held.set(name, { onStarted, onFailed, onExited, onLine });
      });
      this.#send({ type: 'start', name, command, args, env, cwd, output, stopTimeoutMs });
    });
  }

  /** Makes a directory of a unique name that starts with `prefix` (a path), removed when the supervisor ends. */
  async makeDirectory(prefix: string): Promise<string> {
    this.#assertRunning();
    this.#send({ type: 'make-directory', prefix });
    return new Promise((resolve, reject) => {
      this.#onDirectory.push(resolve);
      void this.#ended.then(() => reject(new Error(`the supervisor ended before it made ${prefix}…`)));
    });
  }

  /** Ends every process, the last one first, and removes the directories. Resolves when nothing is left. */
  async stop(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }

  #assertRunning(): void {
    if (!this.#child.stdin.writable) throw new Error('the supervisor has ended');
  }

  #kill(name: string, pid: number, signal: NodeJS.Signals): void {
    // The name may be that of a later process by now.
    if (this.#held.get(name)?.pid === pid) this.#send({ type: 'signal', name, signal });
  }

  #send(command: Command): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }

  async #receive(): Promise<void> {
    const closed = once(this.#child, 'close');
    for await (const line of createInterface({ input: this.#child.stdout })) {
      const report = JSON.parse(line) as Report;
      if (report.type === 'directory') {
        this.#directories.push(report.path);
        this.#onDirectory.shift()?.(report.path);
      } else this.#tell(report);
    }
    await closed;
    this.#sweep();
  }

  #tell(report: ProcessReport): void {
    const held = this.#held.get(report.name);
    if (held === undefined) return;
    switch (report.type) {
      case 'line':
        held.onLine(report.line);
        break;
      case 'started':
        held.pid = report.pid;
        held.onStarted(report.pid);
        break;
      case 'failed':
        this.#held.delete(report.name);
        held.onFailed(new Error(report.message));
        break;
      case 'exited':
        this.#held.delete(report.name);
        held.onExited({ code: report.code, signal: report.signal });
        break;
    }
  }

  /** Finds something to do only where the supervisor itself was killed. */
  #sweep(): void {
    for (const [name, { pid, onFailed, onExited }] of this.#held) {
      if (pid !== undefined) this.#killGroup(pid);
      onFailed(new Error(`the supervisor ended before it started ${name}`));
      onExited({ code: null, signal: 'SIGKILL' });
    }
    this.#held.clear();
    for (const path of this.#directories) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
}
