import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { tunnelName } from '../../src/networks/agent/links.ts';
import { bridgeName } from '../../src/networks/multus/cni-config.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { CNI_DIRECTORIES } from '../env/cluster/container-config.ts';
import type { Machine } from '../env/cluster/machine.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import type { Worker } from '../env/cluster/start-worker.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { eventually } from '../env/eventually.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { FOREIGN_RULES } from '../support/cluster/foreign-rules.ts';
import { multusObstacle } from '../support/cluster/multus-obstacle.ts';
import { AGENT, OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';
import { oldCniConfig } from '../support/network/old-definitions.ts';

/** A first run builds the nodes, Multus, and our image. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(180_000);

const SECOND = 'second';
const THIRD = 'third';
/** The range of Network `four`, and a foreign definition's. */
const FOUR = { cidr: '10.30.0.0/24', gateway: '10.30.0.1' };
const OTHER = { cidr: '10.39.0.0/24', gateway: '10.39.0.1' };
const SIX = { cidr: 'fd00:30::/64', gateway: 'fd00:30::1' };
const WIDE = { cidr: '10.33.0.0/24', gateway: '10.33.0.1' };
const LATER = { cidr: '10.34.0.0/24', gateway: '10.34.0.1' };
/** A node counts as lost after 50 s. */
const LOSS_SECONDS = 60;
const LOSS_MS = 600_000;
/** Which a StatefulSet asks for. */
const STATIC = '10.30.0.77';
const reaches = ' 0% packet loss';

let cluster: Cluster;
let operator: OperatorInCluster;
let worker: Worker;

const run = (args: string) => kubectl(cluster, args);

/** A Network, and a pod on it on each node. */
function startNetwork(
  name: string,
  spec: object,
  nodes: readonly string[] = ['node', SECOND],
): Promise<void> {
  return apply(
    cluster,
    { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', metadata: { name }, spec },
    ...nodes.map((node) => podOn(name, node)),
  );
}

function podOn(network: string, node: string): object {
  const spec = { nodeSelector: { 'kubernetes.io/hostname': node }, terminationGracePeriodSeconds: 0 };
  return podOf(`${network}-${node}`, {}, spec, { annotations: { 'samplecrd.k8s.io/network': network } });
}

async function podsReady(network: string, nodes: readonly string[] = ['node', SECOND]): Promise<void> {
  const pods = nodes.map((node) => `pod/${network}-${node}`).join(' ');
  await run(`wait ${pods} --for=condition=Ready --timeout=120s`);
}

/** The pod's addresses on its Network, in the pod itself. */
async function addressesOf(pod: string): Promise<readonly string[]> {
  const shown = await shell(cluster, pod, 'ip address show net1');
  return Array.from(shown.matchAll(/inet6? (\S+\/\d+) .*scope global/g), ([, address]) => address ?? '');
}

/** The same, as the operator has written them into Multus' annotation. */
async function givenTo(pod: string): Promise<readonly string[]> {
  const { metadata } = JSON.parse(await run(`get pod ${pod} -o json`));
  return JSON.parse(metadata.annotations['k8s.v1.cni.cncf.io/networks'])[0].ips;
}

async function ping(pod: string, address: string, count = 2): Promise<string> {
  return shell(cluster, pod, `ping -c ${count} -W 5 -I net1 ${address.split('/')[0]}`);
}

/** The nodes that replicas of the operator run on, each once per replica. */
async function operatorNodes(): Promise<readonly string[]> {
  const pods = `get pods -n ${OPERATOR} -l app=${OPERATOR} --field-selector=status.phase=Running`;
  return (await run(`${pods} -o jsonpath={.items[*].spec.nodeName}`)).split(' ').sort();
}

async function onMachine({ inside }: Machine, command: string, ...args: readonly string[]): Promise<string> {
  const line = inside({ command, args });
  const { code, stdout, stderr } = await runCommand(line.command, line.args, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

/** Lets agents run on these nodes alone; on all by default. */
async function selectAgents(nodeSelector: object | null): Promise<void> {
  const patch = JSON.stringify({ spec: { template: { spec: { nodeSelector } } } });
  await run(`patch daemonset/${AGENT} -n ${AGENT} --type=merge -p ${patch}`);
  await operator.agentsRolledOut();
}

const condition = (name: string, type: string, field: string) =>
  run(`get network ${name} -o jsonpath={.status.conditions[?(@.type=="${type}")].${field}}`);

describeUnless(await multusObstacle(), 'on two real nodes with Multus, and then three', () => {
  beforeAll(async () => {
    cluster = await startCluster({
      images: ['busybox', 'envoy-initializer'],
      multus: true,
      auditLog: 'Metadata',
    });
    operator = new OperatorInCluster({ own: cluster, kubectl: (...call) => cluster.kubectl(...call) });
    worker = await cluster.addNode(SECOND);
    // As kind's nodes are: with rules that masquerade, and without these plugins.
    for (const machine of [cluster.machine, worker.machine]) {
      await onMachine(
        machine,
        'sh',
        '-c',
        `${FOREIGN_RULES.kindnet}\necho 1 >/proc/sys/net/bridge/bridge-nf-call-iptables`,
      );
    }
    for (const name of ['bridge', 'static', 'host-local']) {
      await rm(join(worker.machine.outside(CNI_DIRECTORIES.plugins), name));
    }
    await run(`wait node/${SECOND} --for=create --for=condition=Ready --timeout=60s`);
    await operator.installNetworks();
  }, PREPARATION_MS);

  afterAll(async () => {
    await stopCluster(cluster);
  });

  test('the agent has installed the plugins that a node lacked, and left those of the other alone', async () => {
    const list = (machine: Machine) => onMachine(machine, 'ls', '-l', CNI_DIRECTORIES.plugins);
    const [first, second] = [await list(cluster.machine), await list(worker.machine)];
    for (const plugin of ['bridge', 'static', 'host-local']) {
      expect(first).toMatch(new RegExp(`^l.* ${plugin} -> `, 'm'));
      expect(second).toMatch(new RegExp(`^-rwxr-xr-x .* ${plugin}$`, 'm'));
    }
    for (const plugins of [first, second]) expect(plugins).toMatch(/^-rwxr-xr-x .* envoy-initializer-ipam$/m);
  });

  test.each([
    ['four', FOUR, [['10.30.0.2/24'], ['10.30.0.3/24']]],
    ['six', SIX, [['fd00:30::2/64'], ['fd00:30::3/64']]],
    [
      'dual',
      {
        ...{ cidr: '10.32.0.0/24', gateway: '10.32.0.1' },
        secondary: { cidr: 'fd00:32::/64', gateway: 'fd00:32::1' },
      },
      [
        ['10.32.0.2/24', 'fd00:32::2/64'],
        ['10.32.0.3/24', 'fd00:32::3/64'],
      ],
    ],
  ])(
    'pods on both nodes have the addresses that the operator gave, and reach each other and the gateway: %s',
    async (name, spec, addresses) => {
      await startNetwork(name, spec);
      await podsReady(name);
      const names = [`${name}-node`, `${name}-${SECOND}`];
      const had = await Promise.all(names.map(addressesOf));
      expect(had.toSorted()).toEqual(addresses);
      expect(await Promise.all(names.map(givenTo))).toEqual(had);
      const gateways = [spec.gateway, ...('secondary' in spec ? [spec.secondary.gateway] : [])];
      for (const [i, pod] of names.entries()) {
        for (const address of [...(had[1 - i] ?? []), ...gateways]) {
          expect(await ping(pod, address)).toContain(reaches);
        }
      }
      await run(`wait network/${name} --for=condition=NodesReady --timeout=30s`);
    },
  );

  test('a Network counts all addresses of its range, on however many nodes', async () => {
    const counted = '{.status.capacity.total}/{.status.capacity.allocated}/{.status.nodes[*].name}';
    await eventually('both pods are counted', async () => {
      return (await run(`get network four -o jsonpath=${counted}`)).startsWith('253/2/node');
    });
  });

  test('the pod of a StatefulSet moves to the other node with its address and its name', async () => {
    const labels = { app: 'db' };
    const annotations = {
      'samplecrd.k8s.io/network': JSON.stringify([{ name: 'four', ips: [`${STATIC}/24`] }]),
    };
    // Not 0: then the next one would start beside it.
    const { spec } = podOf('', {}, { terminationGracePeriodSeconds: 1 }) as { readonly spec: object };
    await run(`cordon ${SECOND}`);
    await apply(cluster, {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db' },
      spec: {
        ...{ replicas: 1, serviceName: 'db', selector: { matchLabels: labels } },
        template: { metadata: { labels, annotations }, spec },
      },
    });
    await run('rollout status statefulset/db --timeout=90s');
    const named = {
      'samplecrd.k8s.io/network': 'four',
      'samplecrd.k8s.io/selector': 'app=db',
    };
    await apply(cluster, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'db', annotations: named },
      spec: { clusterIP: 'None' },
    });
    const asked = performance.now();
    // A resolver remembers for 5 s that there was no such name.
    await run('wait endpointslice -l kubernetes.io/service-name=db --for=create --timeout=30s');
    const answer = () => shell(cluster, `four-${SECOND}`, 'nslookup db-0.db.default.svc.cluster.local');
    await eventually('the name answers', async () => (await answer()).includes(STATIC));
    const seconds = ((performance.now() - asked) / 1000).toFixed(2);
    process.stderr.write(`      the name answered ${seconds} s after its Service\n`);

    const nodeOf = () => run('get pod db-0 -o jsonpath={.spec.nodeName}');
    expect(await nodeOf()).toBe('node');
    await run(`uncordon ${SECOND}`);
    await run('cordon node');
    await run('delete pod db-0');
    await run('rollout status statefulset/db --timeout=90s');
    await run('uncordon node');
    expect(await nodeOf()).toBe(SECOND);
    expect(await addressesOf('db-0')).toEqual([`${STATIC}/24`]);
    expect(await ping('four-node', STATIC)).toContain(reaches);
    await eventually('the name answers', async () => (await answer()).includes(STATIC));
  });

  test('what a tenant writes into definitions changes nothing on the nodes, also where agents start anew', async () => {
    const definition = 'network-attachment-definition/four';
    // It would put the definition right.
    await run('scale deployment/envoy-initializer -n envoy-initializer --replicas=0');
    await run('wait pod -l app=envoy-initializer -n envoy-initializer --for=delete --timeout=90s');
    const config = await run(`get ${definition} -o jsonpath={.spec.config}`);
    const vni = Number(await run('get network four -o jsonpath={.status.vni}'));
    const { address } = worker.machine;
    // In the words of an earlier release, of which agents believed them.
    const subnet = { cidr: `${address.replace(/\d+$/, '0')}/24`, gateway: address, mtu: 1450 };
    for (const [name, number] of [
      ['address', vni + 1000],
      ['vni', vni],
    ] as const) {
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
    const [second = ''] = await addressesOf(`four-${SECOND}`);
    for (const text of [JSON.stringify(JSON.parse(config), null, 2), '']) {
      await patch(text);
      await run(`rollout restart daemonset/${AGENT} -n ${AGENT}`);
      await operator.agentsRolledOut();
      expect(await ping('four-node', second)).toContain(reaches);
      for (const machine of [cluster.machine, worker.machine]) {
        const links = await onMachine(machine, 'ip', '-oneline', 'address');
        for (const name of ['address', 'vni']) expect(links).not.toContain(bridgeName(`default/${name}`));
      }
    }
    await patch(config);
    await run('delete network-attachment-definition address vni');
    await operator.scale(2);
  });

  test('a node without an agent harms its own pods alone: they wait, and the Network names it', async () => {
    await selectAgents({ 'kubernetes.io/hostname': 'node' });
    await run(`delete configmap ${SECOND} -n ${AGENT}`);
    await startNetwork('late', { cidr: '10.31.0.0/24', gateway: '10.31.0.1' });
    await run('wait pod/late-node --for=condition=Ready --timeout=60s');
    await run('wait network/late --for=condition=NodesReady=False --timeout=30s');
    expect(await condition('late', 'NodesReady', 'message')).toBe(
      `pods on these nodes may not reach the others: ${SECOND} (its node agent has not reported)`,
    );
    expect(await condition('late', 'Ready', 'status')).toBe('True');
    await eventually('the pod there says why it waits', async () =>
      (await run(`events --for pod/late-${SECOND}`)).includes('this node is not on the Network yet'),
    );
    // What is joined goes on.
    const [second = ''] = await addressesOf(`four-${SECOND}`);
    expect(await ping('four-node', second)).toContain(reaches);
    await selectAgents(null);
    await podsReady('late');
    await run('wait network/late --for=condition=NodesReady --timeout=30s');
    const [late = ''] = await addressesOf(`late-${SECOND}`);
    expect(await ping('late-node', late)).toContain(reaches);
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

  test(
    'three nodes: when the one with the leader fails, another replica leads, and Networks of the others go on',
    async () => {
      const nodes = ['node', SECOND, THIRD];
      // Here the first node routes between the others, as none of kind's does: it would masquerade their packets.
      for (const program of ['iptables', 'ip6tables'])
        await onMachine(cluster.machine, program, '--table', 'nat', '--flush', 'KIND-MASQ-AGENT');
      const lost = await cluster.addNode(THIRD);
      await run(`wait node/${THIRD} --for=create --for=condition=Ready --timeout=60s`);
      // The leader starts alone, on the node that fails.
      await operator.scale(0);
      await run(`cordon node ${SECOND}`);
      await operator.scale(1);
      const [leader] = await operator.pods();
      await eventually('it leads', async () => (await operator.leader()) === leader?.name);
      await run(`uncordon node ${SECOND}`);
      await operator.scale(3);
      expect(await operatorNodes()).toEqual(nodes);

      await operator.agentsRolledOut();
      await startNetwork('wide', WIDE, nodes);
      await podsReady('wide', nodes);
      const pods = nodes.map((node) => `wide-${node}`);
      const addresses = (await Promise.all(pods.map(addressesOf))).flat();
      expect(new Set(addresses).size).toBe(nodes.length);
      for (const pod of pods)
        for (const address of addresses) expect(await ping(pod, address)).toContain(reaches);
      expect(await condition('wide', 'NodesReady', 'status')).toBe('True');

      const during = ping('wide-node', addresses[1] ?? '', LOSS_SECONDS);
      await lost.stop();
      await run(`wait node/${THIRD} --for=condition=Ready=Unknown --timeout=120s`);
      await eventually('another replica leads', async () => {
        const name = await operator.leader();
        return name !== '' && name !== leader?.name;
      });
      expect(await during).toContain(reaches);
      // The Services' endpoints on the lost node are gone by now.
      await startNetwork('later', LATER);
      await podsReady('later');
      const [later = ''] = await addressesOf(`later-${SECOND}`);
      expect(await ping('later-node', later)).toContain(reaches);
      expect(await condition('later', 'NodesReady', 'status')).toBe('True');
      expect(await condition('wide', 'Ready', 'status')).toBe('True');
      await run('wait network/wide --for=condition=NodesReady=False --timeout=30s');
      expect(await condition('wide', 'NodesReady', 'message')).toBe(
        `pods on these nodes may not reach the others: ${THIRD} (the Node is not Ready)`,
      );

      await run(`delete node ${THIRD}`);
      // The garbage collector of pods looks every 20 s for those without a Node, and waits 40 s for it.
      await eventually(
        'the Network has no pod on it',
        async () => {
          const named = await run('get network wide -o jsonpath={.status.nodes[*].name}');
          return named === `node ${SECOND}`;
        },
        { boundMs: 120_000 },
      );
      await run('wait network/wide --for=condition=NodesReady --timeout=30s');
      await run(`wait pod/${leader?.name} -n ${OPERATOR} --for=delete --timeout=150s`);
      await operator.scale(2);
    },
    LOSS_MS,
  );

  test('a node that goes is let go of, and takes its report along', async () => {
    const peers = async () =>
      onMachine(cluster.machine, 'bridge', 'fdb', 'show', 'dev', tunnelName(bridgeName('default/four')));
    expect(await peers()).toContain(`00:00:00:00:00:00 dst ${worker.machine.address}`);
    await run('delete statefulset db');
    await run(`delete pod four-${SECOND} db-0 --now --ignore-not-found`);
    await worker.stop();
    await run(`delete node ${SECOND}`);
    await eventually(
      'the first node knows of no other',
      async () => !(await peers()).includes(worker.machine.address),
    );
    expect(await condition('four', 'NodesReady', 'status')).toBe('True');
    const reports = `get configmaps -n ${AGENT} -l samplecrd.k8s.io/node-report -o name`;
    await eventually('its report is gone', async () => (await run(reports)) === 'configmap/node\n');
  });
});
