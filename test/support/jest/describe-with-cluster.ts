import { test } from '@jest/globals';
import { clusterObstacle } from '../../env/cluster/obstacle.ts';
import { foreignKubeconfig, notOurs } from '../cluster/e2e-cluster.ts';
import { describeUnless } from './describe-unless.ts';

/** Found before the tests start, by `make e2e`, which tries more than is tried here. */
const obstacle = process.env.E2E_OBSTACLE || (await clusterObstacle());

/** Why there is no node of our own: root on it, its processes, and traces that nobody else leaves. */
export const nodeObstacle = notOurs ?? obstacle;

/** `describe` where there is a cluster, or one can run; elsewhere its tests are skipped, and say why. */
export function describeWithCluster(name: string, tests: () => void): void {
  describeUnless(foreignKubeconfig === undefined ? obstacle : undefined, name, tests);
}

/** The same for what takes a node of our own. */
export function describeWithNode(name: string, tests: () => void): void {
  describeUnless(nodeObstacle, name, tests);
}

/** One test of `describeWithCluster` that takes a node of our own. */
export function testWithNode(name: string, run: () => Promise<void>): void {
  if (nodeObstacle === undefined) test(name, run);
  else test.skip(`${name} (skipped: ${nodeObstacle})`, run);
}
