import { Agent, get, type IncomingHttpHeaders } from 'node:http';
import { SteadyLoad } from './steady-load.ts';

/** A request that is not answered by then never will be. */
const PATIENCE_MS = 15_000;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One GET, on a connection of its own or one of the agent's. Rejects where there is no whole answer. */
export function ask(url: string, agent: Agent | false = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, signal: AbortSignal.timeout(PATIENCE_MS) }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    request.on('error', reject);
  });
}

/**
 * Requests at a steady rate, whatever becomes of those before: by turns on a connection of its own, and on one of a few
 * that are kept, as clients do that have a pool.
 */
export class HttpLoad {
  answered = 0;
  readonly failures: string[] = [];
  readonly #url: string;
  readonly #kept = new Agent({ keepAlive: true, maxSockets: 4, scheduling: 'fifo' });
  readonly #load: SteadyLoad;

  constructor(url: string, perSecond: number) {
    this.#url = url;
    this.#load = new SteadyLoad(perSecond, (index) => this.#askOne(index % 2 === 0 ? this.#kept : false));
  }

  start(): void {
    this.#load.start();
  }

  /** Resolves once the last request is answered for. */
  async stop(): Promise<void> {
    await this.#load.stop();
    this.#kept.destroy();
  }

  async #askOne(agent: Agent | false): Promise<void> {
    const how = agent === false ? 'its own connection' : 'a kept connection';
    try {
      const { status, body } = await ask(this.#url, agent);
      if (status === 200) this.answered += 1;
      else this.failures.push(`${new Date().toISOString()} ${how}: ${status} ${body}`);
    } catch (err) {
      this.failures.push(`${new Date().toISOString()} ${how}: ${String(err)}`);
    }
  }
}

/** Lets loads go on for as long as something is done, and until the last of their requests is answered for. */
export async function underLoad(loads: readonly HttpLoad[], act: () => Promise<void>): Promise<void> {
  for (const load of loads) load.start();
  try {
    await act();
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
}
