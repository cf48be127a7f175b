import type { Clock } from './clock.ts';

export interface TokenBucketOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly ratePerSecond: number;
  /** Tokens in the full bucket; it starts full. */
  readonly burst: number;
}

/** Limits a rate over time, with bursts, like Reserve of Go's `x/time/rate`. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.clock.now();
  }

  /** Takes a token, on credit if the bucket is empty. @returns the milliseconds until the token exists. */
  reserve(): number {
    this.#fill();
    this.#tokens -= 1;
    return Math.max(0, (-this.#tokens / this.#options.ratePerSecond) * 1000);
  }

  /** Takes a token; returns false if the bucket is empty. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #fill(): void {
    const { clock, ratePerSecond, burst } = this.#options;
    const now = clock.now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * ratePerSecond) / 1000);
    this.#filledAt = now;
  }
}
