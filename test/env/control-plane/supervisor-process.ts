/**
 * The program behind `Supervisor`: runs processes for its parent, and ends them all when its stdin closes, which
 * happens however the parent ends, SIGKILL included. Then it removes the directories it made, and exits.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { killGroup } from './kill-group.ts';
import type { Command, Report, StartCommand } from './supervisor-protocol.ts';

interface Running {
  readonly child: ChildProcess;
  readonly stopTimeoutMs: number;
}

/** How long the last output of an exited process is waited for. */
const DRAIN_MS = 1_000;

class SupervisorProcess {
  readonly #running = new Map<string, Running>();
  /** Names by their first start: a process that was restarted keeps its place in the order of stopping. */
  readonly #order = new Set<string>();
  readonly #directories: string[] = [];
  #ending = false;

  handle(command: Command): void {
    if (this.#ending) return;
    switch (command.type) {
      case 'start':
        this.#start(command);
        break;
      case 'signal':
        this.#running.get(command.name)?.child.kill(command.signal);
        break;
      case 'make-directory':
        this.#makeDirectory(command.prefix);
        break;
    }
  }

  /** Ends everything, the last one started first, and exits. */
  async end(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    for (const name of [...this.#order].reverse()) await this.#stop(name);
    for (const path of this.#directories) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    // What is written is read to the end: half a line is no report.
    process.stdout.write('', () => process.exit());
  }

  #start(start: StartCommand): void {
    const { name } = start;
    try {
      const child = spawnProcess(start);
      if (child.pid === undefined) child.once('error', (err) => reportFailure(name, err));
      else this.#hold(start, child, child.pid);
    } catch (err) {
      reportFailure(name, err);
    }
  }

  #hold({ name, stopTimeoutMs }: StartCommand, child: ChildProcess, pid: number): void {
    this.#running.set(name, { child, stopTimeoutMs });
    this.#order.add(name);
    report({ type: 'started', name, pid });
    for (const input of [child.stdout, child.stderr]) {
      if (input) createInterface({ input }).on('line', (line) => report({ type: 'line', name, line }));
    }
    child.once('exit', () => {
      killGroup(pid);
      // What has left the group may hold the output open for as long as it likes.
      const giveUp = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, DRAIN_MS);
      child.once('close', () => clearTimeout(giveUp));
    });
    child.once('close', (code, signal) => {
      this.#running.delete(name);
      report({ type: 'exited', name, code, signal });
    });
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    const { child, stopTimeoutMs } = running;
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await closed;
    clearTimeout(timer);
  }

  #makeDirectory(prefix: string): void {
    const path = mkdtempSync(prefix);
    this.#directories.push(path);
    report({ type: 'directory', path });
  }
}

function spawnProcess({ command, args, env, cwd, output }: StartCommand): ChildProcess {
  const file = typeof output === 'object' ? openSync(output.file, 'a', 0o600) : undefined;
  const to = file ?? (output === 'lines' ? 'pipe' : 'ignore');
  try {
    // A process group of its own, so that what it leaves behind can be found and ended after it.
    return spawn(command, args, { env, cwd, stdio: ['ignore', to, to], detached: true });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function reportFailure(name: string, err: unknown): void {
  report({ type: 'failed', name, message: err instanceof Error ? err.message : String(err) });
}

function report(message: Report): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

const supervisor = new SupervisorProcess();
// The parent may be gone while there is still something to report: that is what this process is for.
process.stdout.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => void supervisor.end());
process.on('uncaughtException', (err) => {
  process.exitCode = 1;
  process.stderr.write(`supervisor: ${err.stack}\n`);
  void supervisor.end();
});
createInterface({ input: process.stdin })
  .on('line', (line) => supervisor.handle(JSON.parse(line) as Command))
  .once('close', () => void supervisor.end());
