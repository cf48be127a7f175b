/** How long certificates live and are waited for, in milliseconds. */
export interface Lifetimes {
  /** Of an authority; at two thirds of it the next one is made. */
  readonly authorityMs: number;
  /** Of a serving certificate; at two thirds of it the next one is issued. Well below the authority's. */
  readonly leafMs: number;
  /** How far apart clocks may be: certificates are valid from this long before they are made. */
  readonly skewMs: number;
  /** How long every webhook configuration must have held an authority before anything is signed by it. */
  readonly settleMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * - A year for the authority, as cert-manager's and Kyverno's webhooks give theirs. Ten years, as others give, put off
 *   the rotation until nobody knows any more whether it works.
 * - 90 days for the serving certificate, as cert-manager issues by default: with no leader a month passes before one
 *   expires.
 * - An hour of skew, as client-go's certificates allow (util/cert, `GenerateSelfSignedCertKey`).
 * - Five minutes for API servers to take notice: one that has fallen behind its watch lists again by then.
 */
export const defaultLifetimes: Lifetimes = {
  authorityMs: 365 * DAY_MS,
  leafMs: 90 * DAY_MS,
  skewMs: HOUR_MS,
  settleMs: 5 * MINUTE_MS,
};
