import { describe } from '@jest/globals';

/** `describe` unless there is a reason not to, which then stands behind its name. */
export function describeUnless(reason: string | undefined, name: string, tests: () => void): void {
  if (reason === undefined) describe(name, tests);
  else describe.skip(`${name} (skipped: ${reason})`, tests);
}
