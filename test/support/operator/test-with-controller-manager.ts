import { test } from '@jest/globals';
import { findBinaries } from '../../env/control-plane/build.ts';

const binaries = await findBinaries(process.env);

/**
 * `test` where there is a kube-controller-manager; elsewhere the test is skipped and says why in its name:
 * the assets of setup-envtest have none, and without it nothing is garbage-collected and no namespace ends.
 */
export function testWithControllerManager(name: string, run: () => Promise<void>): void {
  if (binaries['kube-controller-manager'] === undefined) {
    test.skip(`${name} (skipped: KUBEBUILDER_ASSETS has no kube-controller-manager)`, run);
  } else {
    test(name, run);
  }
}
