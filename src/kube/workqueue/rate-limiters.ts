import type { Clock } from './clock.ts';

export interface Rate {
  readonly ratePerSecond: number;
  /** Tokens in the full bucket; it starts full. */
  readonly burst: number;
}

/** Limits a rate over time, with bursts, like Reserve of Go's `x/time/rate`. */
export type TokenBucket = ReturnType<typeof tokenBucket>;

export function tokenBucket(clock: Pick<Clock, 'now'>, { ratePerSecond, burst }: Rate) {
  let tokens = burst;
  let filledAt = clock.now();
  const fill = () => {
    const now = clock.now();
    tokens = Math.min(burst, tokens + ((now - filledAt) * ratePerSecond) / 1000);
    filledAt = now;
  };
  return {
    /** Takes a token, on credit if the bucket is empty. @returns the milliseconds until the token exists. */
    reserve(): number {
      fill();
      tokens -= 1;
      return Math.max(0, (-tokens / ratePerSecond) * 1000);
    },

    /** Takes a token; returns false if the bucket is empty. */
    tryTake(): boolean {
      fill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
