import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tryBuildLock, waitForBuildLock } from '../control-plane/build-lock.ts';
import { cacheRoot } from '../control-plane/cache-directory.ts';

/** A user's one cluster that runs in the background: what another program is to know of it. */
export interface Kept<Ready> {
  /** Of the program that keeps it, and ends it at SIGTERM. */
  readonly pid: number;
  /** How to reach it, once it is ready. */
  readonly ready?: Ready;
}

/** By whoever keeps the cluster. */
export interface Keeping<Ready> {
  tell(ready: Ready): void;
  end(): void;
}

const POLL_MS = 100;

/** A cluster of this name in the background, at most one for each user. */
export class KeptCluster<Ready> {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** From now on this program keeps the cluster; undefined where another one does. While it does, its file says what is true. */
  keep(): Keeping<Ready> | undefined {
    mkdirSync(dirname(this.#file), { recursive: true });
    const lock = tryBuildLock(this.#lockFile);
    if (lock === undefined) return undefined;
    // Others read it at any moment.
    const write = (cluster: Kept<Ready>) => {
      writeFileSync(`${this.#file}.new`, JSON.stringify(cluster), { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
    };
    write({ pid: process.pid });
    return {
      tell: (ready) => write({ pid: process.pid, ready }),
      end: () => {
        rmSync(this.#file);
        lock.release();
      },
    };
  }

  /** The cluster that is kept now, if one is. */
  find(): Kept<Ready> | undefined {
    mkdirSync(dirname(this.#file), { recursive: true });
    const lock = tryBuildLock(this.#lockFile);
    if (lock === undefined) {
      // Without a file, the one that keeps it has just begun, or is about to end.
      const text = existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : 'null';
      return (JSON.parse(text) as Kept<Ready> | null) ?? undefined;
    }
    // Left by a program that was killed.
    rmSync(this.#file, { force: true });
    lock.release();
    return undefined;
  }

  /** Starts `SCRIPT keep` as a program of its own, which stays when this one ends. Resolves once its cluster is ready. */
  async start(script: string, onOutput: (text: string) => void = () => {}): Promise<Ready> {
    const log = openSync(this.logFile, 'w', 0o600);
    const keeper = spawn(process.execPath, [script, 'keep'], { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    const ended = once(keeper, 'exit').then(() => true);
    const interrupted = Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
    void interrupted.then(() => keeper.kill('SIGTERM'));
    for (let told = 0; ; ) {
      const ready = this.find()?.ready;
      const text = readFileSync(this.logFile, 'utf8');
      onOutput(text.slice(told));
      told = text.length;
      if (ready !== undefined) {
        keeper.unref();
        return ready;
      }
      const hasEnded = await Promise.race([ended, delay(POLL_MS, false)]);
      if (hasEnded)
        throw new Error(`the cluster did not start:\n${readFileSync(this.logFile, 'utf8').trim()}`);
    }
  }

  /** Ends it. Resolves to whether there was one. */
  async end(): Promise<boolean> {
    const kept = this.find();
    if (kept === undefined) return false;
    process.kill(kept.pid, 'SIGTERM');
    (await waitForBuildLock(this.#lockFile)).release();
    return true;
  }

  /** Of the program that keeps it. */
  get logFile(): string {
    return join(cacheRoot(process.env), `${this.#name}.log`);
  }

  get #file(): string {
    return join(cacheRoot(process.env), `${this.#name}.json`);
  }

  get #lockFile(): string {
    return join(cacheRoot(process.env), `.${this.#name}.lock`);
  }
}
