/** The three durations of an election, in milliseconds. */
export interface ElectionTiming {
  /** How long others wait, without seeing a renewal, before they take over: what a crash of the leader costs. */
  readonly leaseDurationMs: number;
  /** How long after its last renewal a leader goes on. The rest of the lease is for its work to end. */
  readonly renewDeadlineMs: number;
  /** Between two tries. */
  readonly retryPeriodMs: number;
}

/** Those of client-go's components. */
export const defaultElectionTiming: ElectionTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** client-go's wait.JitterUntil between tries to acquire: up to this much of a period longer. */
export const JITTER_FACTOR = 1.2;

/** @throws RangeError, when the durations cannot keep two leaders apart or leave no time for a second try. */
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
  // The Lease says it in whole seconds, and others must not wait less than we count on.
  if (leaseDurationMs % 1000 !== 0) {
    throw new RangeError(`expected a lease duration of whole seconds, got ${leaseDurationMs} ms`);
  }
}
