import type { Clock, Timer } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';

export interface RateLimitOptions {
  readonly clock: Clock;
  /** Requests a second over time. */
  readonly qps: number;
  /** Requests at once after a quiet time. */
  readonly burst: number;
}

/** Resolves when it is the caller's turn; rejects with the signal's reason when that aborts first. */
export type WaitTurn = (signal: AbortSignal | undefined) => Promise<void>;

/**
 * A client's own bound on its requests (client-go's `rest.Config` QPS and Burst), first come, first served. A token is
 * drawn for whoever is first in line, so one who gives up takes none along: it goes to the next.
 */
export function rateLimit({ clock, qps, burst }: RateLimitOptions): WaitTurn {
  if (!(qps > 0) || !(burst >= 1)) {
    throw new RangeError(`expected qps above 0 and burst of 1 or more, got qps ${qps} and burst ${burst}`);
  }
  const bucket = new TokenBucket({ clock, ratePerSecond: qps, burst });
  /** First come, first out. */
  const waiting = new Set<() => void>();
  /** When the token that was drawn for the first in line is there. */
  let readyAt: number | undefined;
  let timer: Timer | undefined;

  function serve(): void {
    timer?.cancel();
    for (const grant of waiting) {
      readyAt ??= clock.now() + bucket.reserve();
      const delay = readyAt - clock.now();
      if (delay > 0) {
        timer = clock.setTimer(delay, serve);
        return;
      }
      readyAt = undefined;
      waiting.delete(grant);
      grant();
    }
  }

  return (signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const grant = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      function onAbort(): void {
        waiting.delete(grant);
        // No timer is left behind for nobody.
        serve();
        reject(signal?.reason);
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(grant);
      serve();
    });
}
