import { sleep } from '../util/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';

/** Renderings a second over time. */
const PER_SECOND = 1;
/** Renderings at once after a quiet time: for two Prometheus, and for who looks twice. */
const BURST = 5;

/**
 * The text of the metrics. Whoever reaches the port may ask for it, and it takes long to make, so it is made seldom,
 * however many ask: who asks meanwhile waits for the next one, and shares it. It is never older than the question.
 */
export class MetricsText {
  readonly #clock: Clock;
  readonly #render: () => Promise<string>;
  readonly #bucket: TokenBucket;
  /** The text that is not begun yet. */
  #next: Promise<string> | undefined;

  constructor(clock: Clock, render: () => Promise<string>) {
    this.#clock = clock;
    this.#render = render;
    this.#bucket = new TokenBucket({ clock, ratePerSecond: PER_SECOND, burst: BURST });
  }

  /** Rejects with the reason of the first asker's signal when that aborts. */
  get(signal: AbortSignal): Promise<string> {
    this.#next ??= this.#make(signal);
    return this.#next;
  }

  async #make(signal: AbortSignal): Promise<string> {
    // At least a turn, so that those who ask at once share it.
    await sleep(this.#clock, this.#bucket.reserve(), signal);
    this.#next = undefined;
    return this.#render();
  }
}
