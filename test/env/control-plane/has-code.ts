/**
 * Whether this is an error of Node's with this code, as in `ENOENT`. Not asked by `instanceof`: a test runner that
 * gives each test file a realm of its own has an `Error` that Node's errors are no instances of.
 */
export function hasCode(err: unknown, ...codes: readonly string[]): boolean {
  return typeof err === 'object' && err !== null && 'code' in err && codes.some((code) => code === err.code);
}
