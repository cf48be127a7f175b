import type { Clock } from './clock.ts';

export interface TokenBucketOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly ratePerSecond: number;
  /** Tokens in the full bucket; it starts full. */
  readonly burst: number;
}

/** Limits a rate over time, with bursts, like Reserve of Go's `x/time/rate`. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #ratePerMs: number;
  readonly #burst: number;
  #tokens: number;
  #filledAt: number;

  constructor({ clock, ratePerSecond, burst }: TokenBucketOptions) {
    this.#clock = clock;
    this.#ratePerMs = ratePerSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAt = clock.now();
  }

  /** Takes a token, on credit if the bucket is empty. @returns the milliseconds until the token exists. */
  reserve(): number {
    this.#fill();
    this.#tokens -= 1;
    return Math.max(0, -this.#tokens / this.#ratePerMs);
  }

  /** Takes a token; returns false if the bucket is empty. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #fill(): void {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#filledAt) * this.#ratePerMs);
    this.#filledAt = now;
  }
}
