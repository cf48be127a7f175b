import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { SupervisedProcess } from './supervised-process.ts';
import type { Supervisor } from './supervisor.ts';
import type { ExitStatus } from './supervisor-protocol.ts';

/** How to run one process of a control plane. */
export interface ComponentSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Resolves to whether it serves. Asked again and again: must not reject, nor take long. */
  readonly isReady: () => Promise<boolean>;
}

/** A process that should be running has ended; the message has the end of its log. */
export class ComponentExitedError extends Error {
  override readonly name = 'ComponentExitedError';
}

const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 25;
/** etcd waits 7 s for the API server's streams. What it has written is the kernel's by then, and not lost. */
const STOP_TIMEOUT_MS = 2_000;
const QUOTED_LINES = 15;

/** One process of a control plane, which can be stopped and started again. */
export class Component {
  readonly #supervisor: Supervisor;
  readonly #spec: ComponentSpec;
  readonly #onUnexpectedExit: (err: ComponentExitedError) => void;
  #process: SupervisedProcess | undefined;

  constructor(
    supervisor: Supervisor,
    spec: ComponentSpec,
    onUnexpectedExit: (err: ComponentExitedError) => void,
  ) {
    this.#supervisor = supervisor;
    this.#spec = spec;
    this.#onUnexpectedExit = onUnexpectedExit;
  }

  get name(): string {
    return this.#spec.name;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Resolves when it serves; rejects as soon as it has ended instead, or with the time it is given. */
  async start(): Promise<void> {
    const { name, command, args, env, logFile: file } = this.#spec;
    const process = await this.#supervisor.start({
      name,
      command,
      args,
      env,
      output: { file },
      // When all end, nothing of it is wanted any more.
      stopTimeoutMs: 0,
    });
    this.#process = process;
    const ended = process.exited.then((status) => this.#explain(status));
    try {
      const err = await Promise.race([ended, this.waitUntilReady()]);
      if (err !== undefined) throw err;
    } catch (err) {
      this.expectExit();
      throw err;
    }
    void ended.then((err) => {
      if (this.#process !== process) return;
      this.#process = undefined;
      this.#onUnexpectedExit(err);
    });
  }

  /** Resolves when it serves; rejects where it does not run any more, or after 2 minutes. */
  async waitUntilReady(): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    while (!(await this.#spec.isReady())) {
      if (this.#process === undefined) throw new Error(`${this.name} does not run`);
      if (performance.now() > deadline) {
        throw new Error(
          `${this.name} is not ready after ${READY_TIMEOUT_MS / 1_000} s:${await this.#logTail()}`,
        );
      }
      await delay(READY_POLL_MS);
    }
  }

  /** Sends a signal and waits for the end, which SIGKILL brings about after 2 s. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.expectExit();
    process.kill(signal);
    const timer = setTimeout(() => process.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await process.exited;
    clearTimeout(timer);
  }

  /** From now on its end is no accident. */
  expectExit(): void {
    this.#process = undefined;
  }

  async #explain({ code, signal }: ExitStatus): Promise<ComponentExitedError> {
    const how = signal === null ? `code ${code}` : signal;
    return new ComponentExitedError(`${this.name} ended with ${how}:${await this.#logTail()}`);
  }

  /** Starts with a line break. Empty where there is no log: the directory goes when the supervisor ends. */
  async #logTail(): Promise<string> {
    const log = await readFile(this.#spec.logFile, 'utf8').catch(() => '');
    return `\n${log.trimEnd().split('\n').slice(-QUOTED_LINES).join('\n')}`;
  }
}
