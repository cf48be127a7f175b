import { setTimeout as delay } from 'node:timers/promises';

/** Requests at a steady rate, whatever becomes of those before. */
export class SteadyLoad {
  readonly #everyMs: number;
  readonly #request: (index: number) => Promise<void>;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** `request` makes the one of this index, from 0 on, and never rejects. */
  constructor(perSecond: number, request: (index: number) => Promise<void>) {
    this.#everyMs = 1000 / perSecond;
    this.#request = request;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves once the last request is answered for. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const requests: Promise<void>[] = [];
    for (let due = performance.now(); !this.#stop.signal.aborted; due += this.#everyMs) {
      await delay(Math.max(0, due - performance.now()));
      requests.push(this.#request(requests.length));
    }
    await Promise.all(requests);
  }
}
