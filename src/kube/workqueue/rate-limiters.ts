import type { Clock } from './clock.ts';

export interface Rate {
  readonly ratePerSecond: number;
  /** Tokens in the full bucket; it starts full. */
  readonly burst: number;
}

/** Limits a rate over time, with bursts, like Reserve of Go's `x/time/rate`. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #rate: Rate;
  #tokens: number;
  #filledAt: number;

  constructor(clock: Pick<Clock, 'now'>, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#filledAt = clock.now();
  }

  /** Takes a token, on credit if the bucket is empty. @returns the milliseconds until the token exists. */
  reserve(): number {
    this.#fill();
    this.#tokens -= 1;
    return Math.max(0, (-this.#tokens / this.#rate.ratePerSecond) * 1000);
  }

  /** Takes a token; returns false if the bucket is empty. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #fill(): void {
    const { ratePerSecond, burst } = this.#rate;
    const now = this.#clock.now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * ratePerSecond) / 1000);
    this.#filledAt = now;
  }
}
