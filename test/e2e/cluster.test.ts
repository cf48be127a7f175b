import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Cluster } from '../env/cluster/cluster.ts';
import { sweepMachines } from '../env/cluster/machine.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { machineState, namespacesOf, tracesOf } from '../support/cluster/cluster-traces.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

/** A first run installs, builds and makes what there is not yet. */
const PREPARATION_MS = 30 * 60_000;
jest.setTimeout(120_000);

let cluster: Cluster;
let before: ReturnType<typeof machineState>;

const NONE = { processes: [], networks: [], cables: [], mounts: [], cgroups: [], rules: [], files: [] };

describeWithNode('a cluster of one node', () => {
  beforeAll(async () => {
    before = machineState();
    cluster = await startCluster();
    await apply(cluster, podOf('client'));
    await kubectl(cluster, 'wait pod/client --for=condition=Ready --timeout=90s');
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
  });

  test('is gone without a trace once it is stopped, its pods still running', async () => {
    const { machine } = cluster;
    const namespaces = namespacesOf(machine);
    const during = tracesOf(machine, namespaces);
    expect(during).toMatchObject({ mounts: [], rules: [] });
    for (const kind of ['processes', 'networks', 'cables', 'cgroups', 'files'] as const) {
      expect({ kind, seen: during[kind].length > 0 }).toEqual({ kind, seen: true });
    }
    await cluster.stop();
    expect({ traces: tracesOf(machine, namespaces), state: machineState() }).toEqual({
      traces: NONE,
      state: before,
    });
  });

  test('starts again after that, and leaves nothing when all that looks after it is killed', async () => {
    cluster = await startCluster();
    const { machine } = cluster;
    const namespaces = namespacesOf(machine);
    process.kill(cluster.controlPlane.supervisor.pid ?? 0, 'SIGKILL');
    await cluster.failure;
    await cluster.stop();
    await sweepMachines();
    expect({ traces: tracesOf(machine, namespaces), state: machineState() }).toEqual({
      traces: NONE,
      state: before,
    });
  });
});
