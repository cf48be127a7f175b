import { describe, test } from '@jest/globals';
import { clusterObstacle } from '../../hack/cluster/obstacle.ts';
import { foreignKubeconfig } from './e2e-cluster.ts';

/** Found before the tests start, by `make e2e`, which tries more than is tried here. */
const obstacle = process.env.E2E_OBSTACLE || (await clusterObstacle());

/** `describe` where there is a cluster, or one can run; elsewhere its tests are skipped, and say why. */
export function describeWithCluster(name: string, tests: () => void): void {
  describeUnless(foreignKubeconfig === undefined ? obstacle : undefined, name, tests);
}

const foreign =
  foreignKubeconfig === undefined ? undefined : 'E2E_KUBECONFIG names a cluster that is not ours';

/** The same for what takes a node of our own: root on it, its processes, or traces that nobody else leaves. */
export function describeWithNode(name: string, tests: () => void): void {
  describeUnless(foreign ?? obstacle, name, tests);
}

/** One test of `describeWithCluster` that takes a node of our own. */
export function testWithNode(name: string, run: () => Promise<void>): void {
  if (foreign === undefined) test(name, run);
  else test.skip(`${name} (skipped: ${foreign})`, run);
}

function describeUnless(reason: string | undefined, name: string, tests: () => void): void {
  if (reason === undefined) describe(name, tests);
  else describe.skip(`${name} (skipped: ${reason})`, tests);
}
