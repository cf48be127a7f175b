import { describe, test } from '@jest/globals';
import { chosenKubernetes } from '../../env/control-plane/kubernetes.ts';

/** The minor version of the Kubernetes that the suites use. */
export const MINOR = Number(chosenKubernetes(process.env).version.split('.')[1]);

interface Blocks {
  readonly test: typeof test.skip;
  readonly describe: typeof describe.skip;
}

/** `test` and `describe` for what Kubernetes has since this minor version. With an older one they skip: the title says since when. */
export function since(minor: number): Blocks {
  return MINOR >= minor ? { test, describe } : { test: test.skip, describe: describe.skip };
}
