import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Cluster } from '../../hack/cluster/cluster.ts';
import { ensureMultus } from '../../hack/cluster/multus/multus.ts';
import { clusterObstacle } from '../../hack/cluster/obstacle.ts';
import { startCluster } from '../../hack/cluster/start-cluster.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster-kubectl.ts';

const PREPARATION_MS = 30 * 60_000;
jest.setTimeout(120_000);

let cluster: Cluster;

const blue = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: 'blue' },
  spec: {
    config: JSON.stringify({
      cniVersion: '1.0.0',
      name: 'default.blue',
      plugins: [
        {
          ...{ type: 'bridge', bridge: 'nw-blue', capabilities: { ips: true } },
          ipam: { type: 'host-local', ranges: [[{ subnet: '192.168.0.0/16' }]] },
        },
      ],
    }),
  },
};

function attached(name: string, networks: string): object {
  return podOf(name, {}, {}, { annotations: { 'k8s.v1.cni.cncf.io/networks': networks } });
}

/** What stands in the way of it here, where anything does. */
async function obstacle(): Promise<string | undefined> {
  return (
    (await clusterObstacle()) ??
    ensureMultus(process.env, process.stderr).then(
      () => undefined,
      (err: unknown) => `Multus cannot be built: ${err}`,
    )
  );
}

const reason = await obstacle();
const describeWithMultus = reason === undefined ? describe : describe.skip;

describeWithMultus(`a cluster with Multus${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  beforeAll(async () => {
    cluster = await startCluster({ multus: true });
    await apply(
      cluster,
      blue,
      attached('first', 'blue'),
      attached('second', JSON.stringify([{ name: 'blue', ips: ['192.168.7.7/16'] }])),
      podOf('plain'),
    );
    await kubectl(cluster, 'wait pod --all --for=condition=Ready --timeout=90s');
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
  });

  test('gives a pod a second interface, with the address that it asks for, and says so on the pod', async () => {
    const { metadata } = JSON.parse(await kubectl(cluster, 'get pod second -o json'));
    const status = JSON.parse(metadata.annotations['k8s.v1.cni.cncf.io/network-status']);
    expect(status).toMatchObject([
      { interface: 'eth0', default: true },
      { name: 'default/blue', interface: 'net1', ips: ['192.168.7.7'] },
    ]);
    await expect(shell(cluster, 'second', 'ip -4 -o addr show net1')).resolves.toContain('192.168.7.7/16');
  });

  test('carries packets between two pods of a network', async () => {
    await expect(shell(cluster, 'first', 'ping -c 1 -W 5 -I net1 192.168.7.7')).resolves.toContain(
      ' 0% packet loss',
    );
  });

  test('leaves a pod that asks for no network as it was', async () => {
    await expect(shell(cluster, 'plain', 'ls /sys/class/net')).resolves.toBe('eth0\nlo\n');
  });
});
