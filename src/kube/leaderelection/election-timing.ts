/** The three durations of an election, in milliseconds. */
export interface ElectionTiming {
  /** How long others wait without seeing a renewal before they take over: the outage after a crash of the leader. */
  readonly leaseDurationMs: number;
  /** How long a leader works after its last renewal. In the rest of the lease, its work ends. */
  readonly renewDeadlineMs: number;
  /** The time between two attempts. */
  readonly retryPeriodMs: number;
}

/** The durations of client-go's components. */
export const defaultElectionTiming: ElectionTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** Jitter between attempts to acquire, as client-go's wait.JitterUntil: up to this factor of a period longer. */
export const JITTER_FACTOR = 1.2;

/** @throws RangeError if the durations would allow two leaders, or leave no time for a second attempt. */
export function validateTiming({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: ElectionTiming): void {
  if (!(retryPeriodMs > 0)) {
    throw new RangeError(`expected a retry period above 0 ms, got ${retryPeriodMs}`);
  }
  if (!(renewDeadlineMs > retryPeriodMs * JITTER_FACTOR)) {
    throw new RangeError(
      `expected a renew deadline above ${JITTER_FACTOR} retry periods of ${retryPeriodMs} ms, got ${renewDeadlineMs} ms`,
    );
  }
  if (!(leaseDurationMs > renewDeadlineMs)) {
    throw new RangeError(
      `expected a lease duration above the renew deadline of ${renewDeadlineMs} ms, got ${leaseDurationMs} ms`,
    );
  }
  // The Lease has whole seconds, and others must not wait for less time than the leader expects.
  if (leaseDurationMs % 1000 !== 0) {
    throw new RangeError(`expected a lease duration of whole seconds, got ${leaseDurationMs} ms`);
  }
}
