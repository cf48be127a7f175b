import { sleep } from '../util/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';

/** Renderings per second over time. */
const PER_SECOND = 1;
/** Renderings at once after a quiet time: enough for two Prometheus and some manual requests. */
const BURST = 5;

/**
 * The text of the metrics. Every client of the port may request it, and rendering is slow, so the rate is limited.
 * Requests in the meantime wait for the next text and share it. It is never older than the request.
 */
export class MetricsText {
  readonly #clock: Clock;
  readonly #render: () => Promise<string>;
  readonly #bucket: TokenBucket;
  /** The next text, whose rendering has not begun. */
  #next: Promise<string> | undefined;

  constructor(clock: Clock, render: () => Promise<string>) {
    this.#clock = clock;
    this.#render = render;
    this.#bucket = new TokenBucket({ clock, ratePerSecond: PER_SECOND, burst: BURST });
  }

  /** Rejects with the reason of the first caller's signal when that aborts. */
  get(signal: AbortSignal): Promise<string> {
    this.#next ??= this.#make(signal);
    return this.#next;
  }

  async #make(signal: AbortSignal): Promise<string> {
    // Waits at least one turn, so that concurrent callers share the text.
    await sleep(this.#clock, this.#bucket.reserve(), signal);
    this.#next = undefined;
    return this.#render();
  }
}
