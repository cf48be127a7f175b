import { describe } from '@jest/globals';
import { clusterObstacle } from '../../hack/cluster/obstacle.ts';

const obstacle = await clusterObstacle();

/** `describe` where a cluster can run; elsewhere its tests are skipped, and say why. */
export function describeWithCluster(name: string, tests: () => void): void {
  if (obstacle === undefined) describe(name, tests);
  else describe.skip(`${name} (skipped: ${obstacle})`, tests);
}
