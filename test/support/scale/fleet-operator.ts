import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds } from '../../bench/cpu-time.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { NODE_FLAGS } from '../../env/operator.ts';
import { memoryOf, type ProcessMemory } from '../operator/process-memory.ts';
import { callsIn, type Runs, sumOf } from './run-counter.ts';

/** Flags of Node for a process that can be asked. */
function insideFlags(out: string): readonly string[] {
  // The script stands beside this file, as TypeScript in the sources and as JavaScript in what tsc made of them.
  const script = import.meta.resolve(`./inside${extname(import.meta.url)}`);
  return ['--import', `${script}?out=${out}`];
}

/** Asks the process with this id, which writes into `out`, what ran since the last time. */
async function askInside(pid: number, out: string): Promise<Runs> {
  await rm(out, { force: true });
  process.kill(pid, 'SIGUSR2');
  await eventually('the process tells of itself', async () => existsSync(out));
  return JSON.parse(await readFile(out, 'utf8'));
}

export interface FleetOperatorOptions {
  readonly server: string;
  readonly directory: string;
  readonly name: string;
  /** Of the process: a core to run on, for example. */
  readonly around?: (command: readonly string[]) => readonly string[];
  readonly args?: readonly string[];
  /** From the project's root. */
  readonly program?: string;
  /** Counts what runs, which makes it slow; or only collects garbage when it is asked, which takes no memory. */
  readonly how?: 'runs' | 'garbage';
}

/** Not TypeScript: to load its compiler would take memory. */
const COLLECT = "data:text/javascript,process.on('SIGUSR2', () => gc())";
const POLL_MS = 50;
/** The process does nothing if it needs less CPU time than this in a second. */
const IDLE_SECONDS = 0.03;
const IDLE_TIMES = 3;
/** Fewer calls in this time are those of its timers. */
const IDLE_CALLS = 50;
const IDLE_MS = 250;

/** The operator as a process of its own beside a FleetServer. */
export class FleetOperator {
  readonly #child: ChildProcess;
  readonly #out: string;
  readonly #log: string;
  readonly metricsUrl: string;

  private constructor(child: ChildProcess, out: string, log: string, metricsUrl: string) {
    this.#child = child;
    this.#out = out;
    this.#log = log;
    this.metricsUrl = metricsUrl;
  }

  static async start(options: FleetOperatorOptions): Promise<FleetOperator> {
    const {
      server,
      directory,
      name,
      around = (command) => command,
      args = [],
      program = 'dist/main.js',
      how = 'garbage',
    } = options;
    const file = (suffix: string) => join(directory, `${name}${suffix}`);
    await writeFile(file('.kubeconfig'), kubeconfigOf(server));
    const [port = 0, metricsPort = 0] = await freePorts(2);
    const isCounted = how === 'runs';
    const out = file('.json');
    const [command = '', ...rest] = around([
      process.execPath,
      ...NODE_FLAGS,
      // Code that V8 optimizes inlines functions, and loses their counts.
      ...(isCounted ? ['--no-opt', '--no-maglev'] : []),
      ...(isCounted ? insideFlags(out) : ['--expose-gc', '--import', COLLECT]),
      join(projectDirectory(), program),
      'serve',
      `--kubeconfig=${file('.kubeconfig')}`,
      `--port=${port}`,
      `--metrics-port=${metricsPort}`,
      '--webhook-url=https://127.0.0.1:1',
      '--log-level=warn',
      '--shutdown-delay=0s',
      ...args,
    ]);
    const log = await open(file('.log'), 'w');
    const child = spawn(command, rest, {
      stdio: ['ignore', log.fd, log.fd],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    await once(child, 'spawn');
    await log.close();
    return new FleetOperator(child, out, file('.log'), `http://127.0.0.1:${metricsPort}`);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  cpuSeconds(): number {
    return cpuSeconds(this.pid);
  }

  /** Resolves when `/readyz` succeeds. */
  async untilReady(): Promise<void> {
    const ask = () =>
      fetch(`${this.metricsUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await ask())) {
      await this.#check();
      await pause(POLL_MS);
    }
  }

  /** Resolves when it has done for a while almost nothing. */
  async untilIdle(): Promise<void> {
    for (let idle = 0; idle < IDLE_TIMES; ) {
      await this.#check();
      const before = this.cpuSeconds();
      await pause(1_000);
      const isIdle = this.cpuSeconds() - before < IDLE_SECONDS && (await this.#sleeps());
      idle = isIdle ? idle + 1 : 0;
    }
  }

  /** What runs because of a change, until almost nothing runs any more. */
  async runsOf(change: () => unknown): Promise<Runs> {
    const since = () => askInside(this.pid, this.#out);
    await since();
    change();
    return await this.#untilQuiet(since);
  }

  /** What has run since the start, once it is ready and almost nothing runs any more. */
  async runsOfStart(): Promise<Runs> {
    await this.untilReady();
    return await this.#untilQuiet(() => askInside(this.pid, this.#out));
  }

  async #untilQuiet(since: () => Promise<Runs>): Promise<Runs> {
    const all: Runs[] = [];
    for (let quiet = 0; quiet < IDLE_TIMES; ) {
      await pause(IDLE_MS);
      await this.#check();
      const isAsleep = await this.#sleeps();
      const runs = await since();
      all.push(runs);
      quiet = isAsleep && callsIn(runs) < IDLE_CALLS ? quiet + 1 : 0;
    }
    return sumOf(all);
  }

  /** What it holds of the machine's memory after a garbage collection. */
  async memory(): Promise<ProcessMemory> {
    this.#child.kill('SIGUSR2');
    await this.untilIdle();
    return await memoryOf(this.pid);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** A process that waits for a core needs no CPU time either, and is not idle. */
  async #sleeps(): Promise<boolean> {
    return /\) S /.test(await readFile(`/proc/${this.pid}/stat`, 'utf8'));
  }

  async #check(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) return;
    throw new Error(`the operator ended: ${(await readFile(this.#log, 'utf8')).slice(-2_000)}`);
  }
}

/** Plain HTTP takes a word more. */
function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fleet', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'fleet', user: { token: 'token' } }],
    contexts: [{ name: 'fleet', context: { cluster: 'fleet', user: 'fleet' } }],
    'current-context': 'fleet',
  });
}
