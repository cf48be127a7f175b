import { describe, test } from '@jest/globals';
import { chosenMinor } from '../../env/control-plane/pinned-module.ts';

/** The minor version of the Kubernetes that the suites use. */
export const MINOR = await chosenMinor(process.env);

/** `test` and `describe` for what Kubernetes has since this minor version: with an older one they skip. The title says since when. */
export function since(minor: number): Pick<typeof import('@jest/globals'), 'test' | 'describe'> {
  return MINOR >= minor ? { test, describe } : ({ test: test.skip, describe: describe.skip } as never);
}
