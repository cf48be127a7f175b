const PERIOD_MS = 600_000;
/** Added at random, so that replicas do not ask at the same time. */
const JITTER = 0.2;

/** The time between checks of what the API server serves, in milliseconds. An upgrade may change that. */
export function askAgainMs(): number {
  return PERIOD_MS * (1 + JITTER * Math.random());
}
