/** Tests that fail with a sidecar because of what a sidecar is, each with why no change here mends that. */
export const KNOWN: readonly (readonly [test: RegExp, why: string])[] = [];
