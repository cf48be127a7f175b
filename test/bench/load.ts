import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { LOAD_CORE, pinned } from './pinned.ts';

export interface LoadOptions {
  readonly url: string;
  /** Sent by turns. */
  readonly bodies: readonly string[];
  readonly bodyFile: string;
  /** A new connection, and a new TLS handshake, for each request. */
  readonly fresh?: boolean;
}

/** Connections at once: the API server keeps about as many to a webhook under load. */
const CONNECTIONS = 16;
/** Handshakes one after the other on a few: what is measured is their cost, not a full backlog. */
const FRESH_CONNECTIONS = 4;
/** Of a slice without an answer: other guests may take the machine for seconds. */
const ATTEMPTS = 3;

/** Posts reviews as fast as they are answered, from a core of its own. */
export class Load {
  readonly #url: string;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(url: string, child: ChildProcess, lines: AsyncIterator<string>) {
    this.#url = url;
    this.#child = child;
    this.#lines = lines;
  }

  static async start({ url, bodies, bodyFile, fresh }: LoadOptions): Promise<Load> {
    await writeFile(bodyFile, bodies.join('\n'));
    const how = fresh ? [`${FRESH_CONNECTIONS}`, 'fresh'] : [`${CONNECTIONS}`, 'kept'];
    const program = join(projectDirectory(), 'test/bench/review-load.ts');
    const [file = '', ...args] = pinned(LOAD_CORE, [process.execPath, program, url, bodyFile, ...how]);
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    return new Load(url, child, createInterface(child.stdout)[Symbol.asyncIterator]());
  }

  /** Sends so many, and resolves with what `around` returns for the seconds. A slice that fails is repeated. */
  async send<T>(count: number, around: (send: () => Promise<number>) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await around(() => this.#send(count));
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #send(count: number): Promise<number> {
    this.#child.stdin?.write(`${count}\n`);
    const { value } = await this.#lines.next();
    const seconds = Number(value);
    if (!(seconds > 0)) throw new Error(`${count} requests to ${this.#url}: ${value}`);
    return seconds;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.stdin?.end();
    await ended;
  }
}
