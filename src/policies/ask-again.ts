const PERIOD_MS = 600_000;
/** Upwards, so that replicas do not ask at once. */
const JITTER = 0.2;

/** How long what the API server serves is taken for known, in milliseconds: it may be upgraded while this process runs. */
export function askAgainMs(): number {
  return PERIOD_MS * (1 + JITTER * Math.random());
}
