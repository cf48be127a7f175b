/** Lifetimes and delays of certificates, in milliseconds. */
export interface Lifetimes {
  /** Lifetime of an authority. The next one is created at two thirds of it. */
  readonly authorityMs: number;
  /** Lifetime of a serving certificate, well below the authority's. The next one is issued at two thirds of it. */
  readonly leafMs: number;
  /** How far clocks may differ: certificates become valid this long before their creation. */
  readonly skewMs: number;
  /** How long all webhook configurations must have held an authority before it signs. */
  readonly settleMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * - A year for the authority, as in the webhooks of cert-manager and Kyverno. Ten years, as in others, would leave
 *   the rotation untested for too long.
 * - 90 days for the serving certificate, the default of cert-manager. Without a leader, a month passes before it
 *   expires.
 * - An hour of skew, as client-go allows (util/cert, `GenerateSelfSignedCertKey`).
 * - Five minutes for API servers to see the bundle: a watch that has fallen behind lists again within that time.
 */
export const defaultLifetimes: Lifetimes = {
  authorityMs: 365 * DAY_MS,
  leafMs: 90 * DAY_MS,
  skewMs: HOUR_MS,
  settleMs: 5 * MINUTE_MS,
};
