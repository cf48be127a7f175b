import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { bridgeName } from '../../src/network/providers/multus/cni-config.ts';
import { tunnelName } from '../../src/node-agent/links.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { CNI_DIRECTORIES } from '../env/cluster/container-config.ts';
import type { Machine } from '../env/cluster/machine.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import type { Worker } from '../env/cluster/start-worker.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { eventually } from '../env/eventually.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster-kubectl.ts';
import { describeUnless } from '../support/describe-unless.ts';
import { multusObstacle } from '../support/multus-obstacle.ts';
import { oldCniConfig } from '../support/old-definitions.ts';
import { forbiddenCalls } from '../support/rights.ts';

/** A first run builds the nodes, Multus, and our image. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(180_000);

const AGENT = 'envoy-initializer-node-agent';
const SECOND = 'second';

let cluster: Cluster;
let worker: Worker;

const run = (args: string) => kubectl(cluster, args);
const OTHER = { cidr: '10.39.0.0/24', gateway: '10.39.0.1' };
const reaches = ' 0% packet loss';

/** A Network, and a pod on it on each node. */
async function startNetwork(name: string, cidr: string, gateway: string): Promise<void> {
  await apply(
    cluster,
    { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', metadata: { name }, spec: { cidr, gateway } },
    ...['node', SECOND].map((node) => podOn(name, node)),
  );
  await run(`wait pod/${name}-node pod/${name}-${SECOND} --for=condition=Ready --timeout=120s`);
}

function podOn(network: string, node: string): object {
  const spec = { nodeSelector: { 'kubernetes.io/hostname': node }, terminationGracePeriodSeconds: 0 };
  return podOf(`${network}-${node}`, {}, spec, { annotations: { 'samplecrd.k8s.io/network': network } });
}

/** The pod's address on its Network. */
async function addressOf(pod: string): Promise<string> {
  const [, address = ''] =
    /inet6? ([^/]+)\/\d+ .*scope global/.exec(await shell(cluster, pod, 'ip address show net1')) ?? [];
  return address;
}

async function onMachine({ inside }: Machine, command: string, ...args: readonly string[]): Promise<string> {
  const line = inside({ command, args });
  const { code, stdout, stderr } = await runCommand(line.command, line.args, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

const ready = (name: string, field: string) =>
  run(`get network ${name} -o jsonpath={.status.conditions[?(@.type=="Ready")].${field}}`);

describeUnless(await multusObstacle(), 'on two real nodes with Multus', () => {
  beforeAll(async () => {
    cluster = await startCluster({
      images: ['busybox', 'envoy-initializer'],
      multus: true,
      auditLog: 'Metadata',
    });
    worker = await cluster.addNode(SECOND);
    // As kind's node image is.
    for (const name of ['bridge', 'host-local']) {
      await rm(join(worker.machine.outside(CNI_DIRECTORIES.plugins), name));
    }
    await run(`wait node/${SECOND} --for=create --for=condition=Ready --timeout=60s`);
    await run(`apply -k ${join(projectDirectory(), 'deploy/overlays/networks')}`);
    await run(`rollout status daemonset/${AGENT} -n ${AGENT} --timeout=180s`);
    await run('rollout status deployment/envoy-initializer -n envoy-initializer --timeout=180s');
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
  });

  test('the agent has installed the plugins that a node lacked, and left those of the other alone', async () => {
    const list = (machine: Machine) => onMachine(machine, 'ls', '-l', CNI_DIRECTORIES.plugins);
    const [first, second] = [await list(cluster.machine), await list(worker.machine)];
    expect(first).toMatch(/^l.* bridge -> /m);
    expect(second).toMatch(/^-rwxr-xr-x .* bridge$/m);
    for (const plugins of [first, second]) expect(plugins).toMatch(/^-rwxr-xr-x .* envoy-initializer-ipam$/m);
  });

  test.each([
    ['four', '10.30.0.0/24', '10.30.0.1', ['10.30.0.16', '10.30.0.32']],
    ['six', 'fd00:30::/64', 'fd00:30::1', ['fd00:30:0:0:10::', 'fd00:30:0:0:20::']],
  ])(
    'pods on both nodes reach each other and the gateway over a Network: %s',
    async (name, cidr, gateway, addresses) => {
      await startNetwork(name, cidr, gateway);
      expect(await ready(name, 'reason')).toBe('Ready');
      const [first, second] = [await addressOf(`${name}-node`), await addressOf(`${name}-${SECOND}`)];
      expect([first, second].toSorted()).toEqual(addresses);
      for (const [pod, other] of [
        [`${name}-node`, second],
        [`${name}-${SECOND}`, first],
      ]) {
        for (const address of [other, gateway]) {
          expect(await shell(cluster, `${pod}`, `ping -c 2 -W 5 -I net1 ${address}`)).toContain(reaches);
        }
      }
    },
  );

  test('a Network counts the addresses of the slices that there are', async () => {
    expect(await run('get network four -o jsonpath={.status.capacity.total}')).toBe(`${14 + 2 * 16}`);
  });

  test('what a tenant writes into definitions changes nothing on the nodes, also where agents start anew', async () => {
    const definition = 'network-attachment-definition/four';
    // It would put the definition right.
    await run('scale deployment/envoy-initializer -n envoy-initializer --replicas=0');
    await run('wait pod -l app=envoy-initializer -n envoy-initializer --for=delete --timeout=90s');
    const config = await run(`get ${definition} -o jsonpath={.spec.config}`);
    const { address } = worker.machine;
    // In the words of an earlier release, of which agents believed them.
    const subnet = { cidr: `${address.replace(/\d+$/, '0')}/24`, gateway: address, mtu: 1450 };
    const { vni } = JSON.parse(config).plugins[0];
    for (const [name, number] of [
      ['address', vni + 1],
      ['vni', vni],
    ]) {
      await apply(cluster, {
        apiVersion: 'k8s.cni.cncf.io/v1',
        kind: 'NetworkAttachmentDefinition',
        metadata: { name },
        spec: {
          config: oldCniConfig(`default/${name}`, { ...subnet, ...(name === 'vni' && OTHER) }, number),
        },
      });
    }
    const patch = (text: string) =>
      kubectl(cluster, [
        'patch',
        definition,
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { config: text } }),
      ]);
    for (const text of [JSON.stringify(JSON.parse(config), null, 2), '']) {
      await patch(text);
      await run(`rollout restart daemonset/${AGENT} -n ${AGENT}`);
      await run(`rollout status daemonset/${AGENT} -n ${AGENT} --timeout=120s`);
      const second = await addressOf(`four-${SECOND}`);
      expect(await shell(cluster, 'four-node', `ping -c 2 -W 5 -I net1 ${second}`)).toContain(reaches);
      for (const machine of [cluster.machine, worker.machine]) {
        const links = await onMachine(machine, 'ip', '-oneline', 'address');
        for (const name of ['address', 'vni']) expect(links).not.toContain(bridgeName(`default/${name}`));
      }
    }
    await patch(config);
    await run('delete network-attachment-definition address vni');
    await run('scale deployment/envoy-initializer -n envoy-initializer --replicas=2');
    await run('rollout status deployment/envoy-initializer -n envoy-initializer --timeout=180s');
  });

  test('a Network is Ready when each node to which pods may come is joined, and says which one is not', async () => {
    // Away from the second node.
    const selector = (nodeSelector: object | null) =>
      run(
        `patch daemonset/${AGENT} -n ${AGENT} --type=merge -p ${JSON.stringify({ spec: { template: { spec: { nodeSelector } } } })}`,
      );
    await selector({ 'kubernetes.io/hostname': 'node' });
    await run(`rollout status daemonset/${AGENT} -n ${AGENT} --timeout=120s`);
    await apply(cluster, {
      apiVersion: 'samplecrd.k8s.io/v1',
      kind: 'Network',
      metadata: { name: 'late' },
      spec: { cidr: '10.31.0.0/24', gateway: '10.31.0.1' },
    });
    await run(
      'wait network/late --for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=NodesNotJoined --timeout=30s',
    );
    await eventually(
      'the other node is joined',
      async () =>
        (await ready('late', 'message')) ===
        'pods on these nodes would not be on the network: second (its node agent is not done yet)',
    );
    // What is there goes on.
    expect(await ready('four', 'status')).toBe('True');
    await run(`cordon ${SECOND}`);
    await run('wait network/late --for=condition=Ready --timeout=30s');
    await run(`uncordon ${SECOND}`);
    await run('wait network/late --for=condition=Ready=False --timeout=30s');
    await selector(null);
    await run('wait network/late --for=condition=Ready --timeout=90s');
  });

  test('a Network that goes leaves nothing on either node', async () => {
    await run(`delete network six --wait=false`);
    await run(`delete pod six-node six-${SECOND} --now`);
    await run('wait network/six --for=delete --timeout=60s');
    const bridge = bridgeName('default/six');
    await eventually('no bridge or tunnel of it is left', async () => {
      const links = await Promise.all(
        [cluster.machine, worker.machine].map((of) => onMachine(of, 'ip', '-oneline', 'link')),
      );
      return !links.join().includes(bridge) && !links.join().includes(tunnelName(bridge));
    });
  });

  test('a node that goes is let go of, and takes its report along', async () => {
    const peers = async () =>
      onMachine(cluster.machine, 'bridge', 'fdb', 'show', 'dev', tunnelName(bridgeName('default/four')));
    expect(await peers()).toContain(`00:00:00:00:00:00 dst ${worker.machine.address}`);
    await run(`delete pod four-${SECOND} --now`);
    await worker.stop();
    await run(`delete node ${SECOND}`);
    await eventually(
      'the first node knows of no other',
      async () => !(await peers()).includes(worker.machine.address),
    );
    expect(await ready('four', 'status')).toBe('True');
    const reports = `get configmaps -n ${AGENT} -l samplecrd.k8s.io/node-report -o name`;
    await eventually('its report is gone', async () => (await run(reports)) === 'configmap/node\n');
  });

  test('the operator and the agents have needed no right that the roles do not give', async () => {
    const path = cluster.controlPlane.auditLogPath;
    expect(await forbiddenCalls(path)).toEqual([]);
    expect(await forbiddenCalls(path, `system:serviceaccount:${AGENT}:${AGENT}`)).toEqual([]);
  });
});
