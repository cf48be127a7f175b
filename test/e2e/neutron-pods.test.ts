import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Cluster } from '../env/cluster/cluster.ts';
import type { Machine } from '../env/cluster/machine.ts';
import { ensureMultus } from '../env/cluster/multus/multus.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import type { Worker } from '../env/cluster/start-worker.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { eventually } from '../env/eventually.ts';
import { type RunningNeutron, startNeutron } from '../env/neutron/start.ts';
import { ensureOvnPrograms } from '../env/ovn/ovn-programs.ts';
import { OVN_PORTS, Ovn } from '../env/ovn/start-ovn.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster/cluster-kubectl.ts';
import { OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';
import { nodeObstacle } from '../support/jest/describe-with-cluster.ts';
import { neutronEnvironment } from '../support/jest/describe-with-neutron.ts';
import { neutronNetwork, neutronSecret } from '../support/neutron/neutron-manifests.ts';

/** Why no pod can be a port of OVN here; undefined where all of it can be had, which is built where it is not there. */
async function ovnObstacle(): Promise<string | undefined> {
  if (nodeObstacle !== undefined) return nodeObstacle;
  if (typeof neutronEnvironment === 'string') return neutronEnvironment;
  try {
    await ensureMultus(process.env, process.stderr);
    await ensureOvnPrograms(process.env, process.stderr);
    return undefined;
  } catch (err) {
    return `Multus and OVN cannot be had: ${err instanceof Error ? err.message.split('\n')[0] : err}`;
  }
}

/** A first run builds the nodes, Multus, ovs-cni and our image. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(300_000);

const SECOND = 'second';
const NETWORK = 'ports';
const VM = 'vm';
const reaches = ' 0% packet loss';
const isLost = ' 100% packet loss';

interface Port {
  readonly id: string;
  readonly mac_address: string;
  readonly device_owner: string;
  readonly security_groups: readonly string[];
  readonly fixed_ips: readonly { readonly ip_address: string }[];
}

let cluster: Cluster;
let operator: OperatorInCluster;
let worker: Worker;
let neutron: RunningNeutron;
let ovn: Ovn;
let token: string;
let open: string;
let chassis: readonly Awaited<ReturnType<Ovn['startChassis']>>[];

const run = (args: string) => kubectl(cluster, args);

/** Neutron, as the user of the operator. SQLite refuses a write beside one for OVN: Neutron answers 500 and has done nothing. */
async function call(
  method: string,
  path: string,
  body?: object,
  attempts = 10,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${neutron.url}/v2.0${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-auth-token': token },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status === 500 && attempts > 1) return call(method, path, body, attempts - 1);
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

async function create<T>(kind: string, fields: object): Promise<T> {
  return (await call('POST', `/${kind}s`.replaceAll('_', '-'), { [kind]: fields }))[kind] as T;
}

async function ports(query: string): Promise<readonly Port[]> {
  return (await call('GET', `/ports?${query}`)).ports as readonly Port[];
}

/** A pod on the Network on this node, with the options. */
function podOn(node: string, name: string, options: object = { 'security-groups': [open] }): object {
  const spec = { nodeSelector: { 'kubernetes.io/hostname': node }, terminationGracePeriodSeconds: 0 };
  const annotations = { 'samplecrd.k8s.io/network': JSON.stringify([{ name: NETWORK, ...options }]) };
  return podOf(name, {}, spec, { annotations });
}

async function ready(...names: readonly string[]): Promise<void> {
  await run(`wait ${names.map((name) => `pod/${name}`).join(' ')} --for=condition=Ready --timeout=120s`);
}

async function addressOf(pod: string): Promise<string> {
  const shown = await shell(cluster, pod, 'ip -4 -o address show net1');
  return /inet (\S+)\//.exec(shown)?.[1] ?? '';
}

/** Pings until it is so: OVN programs its switches after the pod has started. */
async function pings(from: (line: string) => Promise<string>, to: string, expected: string): Promise<void> {
  await eventually(`a ping of ${to} has${expected}`, async () =>
    (await from(`ping -c 3 -W 1 ${to} || true`)).includes(expected),
  );
}

const inPod = (pod: string) => (line: string) => shell(cluster, pod, line);
const inVm = (line: string) =>
  ovn.run(
    worker.machine,
    ...(['ip', 'netns', 'exec', VM, 'busybox', 'sh', '-c', line.replace('ping', 'busybox ping')] as const),
  );
const nodesReady = () =>
  run(`get network ${NETWORK} -o jsonpath={.status.conditions[?(@.type=="NodesReady")].message}`);

/** How the operator comes to OpenStack: by an application credential of a member. */
async function cloudsOf({ keystone }: RunningNeutron): Promise<string> {
  if (!keystone) throw new Error('expected a Keystone');
  token = await keystone.admin.tokenOf(keystone.user);
  const { id, secret } = await keystone.admin.createApplicationCredential(keystone.user, 'operator');
  const auth = {
    auth_url: keystone.url,
    application_credential_id: id,
    application_credential_secret: secret,
  };
  return JSON.stringify({ clouds: { openstack: { auth_type: 'v3applicationcredential', auth } } });
}

/** A cable between the machines for the tunnels alone. */
async function layCable(hub: Machine, other: Machine): Promise<void> {
  const line = `--target ${hub.pid} --net ip link add ovn0 type veth peer name ovn0 netns ${other.pid}`;
  const { code, stderr } = await runCommand('nsenter', line.split(' '), { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(stderr);
  for (const machine of [hub, other]) await ovn.run(machine, 'ip', 'link', 'set', 'ovn0', 'up');
}

describeUnless(await ovnObstacle(), 'OVN with a real Neutron', () => {
  beforeAll(async () => {
    if (typeof neutronEnvironment === 'string') throw new Error(neutronEnvironment);
    const programs = await ensureOvnPrograms(process.env, process.stderr);
    ovn = new Ovn(programs);
    cluster = await startCluster({ images: ['busybox', 'envoy-initializer'], multus: true });
    operator = new OperatorInCluster({ own: cluster, kubectl: (...each) => cluster.kubectl(...each) });
    worker = await cluster.addNode(SECOND);
    const { machine } = cluster;
    await layCable(machine, worker.machine);
    await ovn.startCentral(machine);
    const both = [
      { machine, name: 'node', tunnelAddress: '172.31.0.1/24', device: 'ovn0' },
      { machine: worker.machine, name: SECOND, tunnelAddress: '172.31.0.2/24', device: 'ovn0' },
    ];
    chassis = await Promise.all(both.map((each) => ovn.startChassis(each, machine)));
    neutron = await startNeutron({
      environment: neutronEnvironment,
      tokenLifetimeS: 3_600,
      ovn: {
        ...{ machine, programs },
        addresses: {
          northbound: `tcp:127.0.0.1:${OVN_PORTS.northbound}`,
          southbound: `tcp:127.0.0.1:${OVN_PORTS.southbound}`,
        },
      },
    });
    await run(`wait node/${SECOND} --for=create --for=condition=Ready --timeout=60s`);
    await operator.installNetworks('neutron-pods');
    await apply(cluster, neutronSecret(await cloudsOf(neutron)));
    const group = await create<{ readonly id: string }>('security_group', { name: 'open' });
    open = group.id;
    const icmp = { direction: 'ingress', ethertype: 'IPv4', protocol: 'icmp', security_group_id: open };
    await create('security_group_rule', icmp);
    await create('security_group_rule', { ...icmp, direction: 'egress' });
    await apply(cluster, neutronNetwork(NETWORK, { cidr: '10.60.0.0/24', gateway: '10.60.0.1' }));
    await run(`wait network/${NETWORK} --for=condition=Ready --timeout=120s`);
  }, PREPARATION_MS);

  afterAll(async () => {
    await neutron?.stop();
    await cluster?.stop();
  });

  test('pods on two nodes of OVN have the addresses of their ports, and ping each other by Geneve', async () => {
    await apply(cluster, podOn('node', 'here'), podOn(SECOND, 'there'));
    await ready('here', 'there');
    const made = await ports('device_owner=envoy-initializer:pod');
    const addresses = [await addressOf('here'), await addressOf('there')];
    expect(made.map(({ fixed_ips: [ip] }) => ip?.ip_address).toSorted()).toEqual(addresses.toSorted());
    await pings(inPod('here'), addresses[1] ?? '', reaches);
    await pings(inPod('there'), addresses[0] ?? '', reaches);
    expect(await ovn.run(cluster.machine, 'ovs-vsctl', 'show')).toMatch(/type: geneve/);
    const mtu = await shell(cluster, 'here', 'cat /sys/class/net/net1/mtu');
    expect(mtu.trim()).toBe('1442');
  });

  test('security groups of Neutron hold between pods', async () => {
    const closed = await create<{ readonly id: string }>('security_group', { name: 'closed' });
    await apply(cluster, podOn(SECOND, 'closed', { 'security-groups': [closed.id] }));
    await ready('closed');
    const address = await addressOf('closed');
    await pings(inPod('here'), address, isLost);
    const rule = { direction: 'ingress', ethertype: 'IPv4', protocol: 'icmp', security_group_id: closed.id };
    await create('security_group_rule', rule);
    await pings(inPod('here'), address, reaches);
  });

  test('a pod and a virtual machine on the same network of Neutron ping each other', async () => {
    const id = await run(`get network ${NETWORK} -o jsonpath={.status.externalID}`);
    const port = await create<Port>('port', {
      ...{
        network_id: id,
        name: VM,
        device_owner: 'compute:nova',
        device_id: 'a-vm',
        security_groups: [open],
      },
    });
    const address = port.fixed_ips[0]?.ip_address ?? '';
    const ip = (...args: readonly string[]) => ovn.run(worker.machine, 'ip', ...args);
    await ip('netns', 'add', VM);
    await ip(...`link add vm0 type veth peer name eth0 netns ${VM}`.split(' '));
    await ip('link', 'set', 'vm0', 'up');
    const inside = ['-n', VM];
    await ip(...inside, 'link', 'set', 'eth0', 'address', port.mac_address, 'mtu', '1442', 'up');
    await ip(...inside, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    await ovn.run(
      ...([worker.machine, 'ovs-vsctl', 'add-port', 'br-int', 'vm0', '--'] as const),
      ...['set', 'interface', 'vm0', `external-ids:iface-id=${port.id}`],
    );
    await pings(inPod('here'), address, reaches);
    await pings(inVm, await addressOf('here'), reaches);
  });

  test('a node of OVN whose ovn-controller does not work is named', async () => {
    await chassis[1]?.controller.stop('SIGKILL');
    await apply(cluster, podOn(SECOND, 'dark'));
    await ready('dark');
    await eventually('the Network names the node', async () =>
      /second \(its ovn-controller does not connect ports /.test(await nodesReady()),
    );
    await chassis[1]?.controller.start();
    await eventually(
      'the node works again',
      async () => (await nodesReady()) === 'the nodes with pods on it are connected',
    );
    await pings(inPod('here'), await addressOf('dark'), reaches);
    await run('delete pod dark --now');
  });

  test('ports in Neutron go with their pods, also with the operator away, and those of others stay', async () => {
    await operator.scale(0);
    await run('delete pod there closed --grace-period=0 --force');
    await operator.scale(1);
    await eventually('only the port of the pod that runs is left', async () => {
      return (await ports('device_owner=envoy-initializer:pod')).length === 1;
    });
    await run('delete pod here --now');
    await eventually('no port of a pod is left', async () => {
      return (await ports('device_owner=envoy-initializer:pod')).length === 0;
    });
    expect(await ports(`name=${VM}`)).toHaveLength(1);
    for (const { machine } of [cluster, worker]) {
      await eventually('ovs-cni has left nothing', async () => {
        return !/veth/.test(await ovn.run(machine, 'ovs-vsctl', 'list-ports', 'br-int'));
      });
    }
  });
});
