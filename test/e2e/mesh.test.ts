import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { tunnelName } from '../../src/networks/agent/links.ts';
import { NODE_IPAM } from '../../src/networks/api/names.ts';
import type { Network, NetworkStatus } from '../../src/networks/api/types.ts';
import { bridgeName, FIRST_VNI } from '../../src/networks/multus/cni-config.ts';
import {
  type LabNode,
  type LabPod,
  labConfig,
  labNodes,
  MeshLab,
  Pings,
  type Space,
} from '../support/cluster/mesh-lab.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

jest.setTimeout(120_000);

const ALL = labNodes({ a: 1, b: 2, c: 3 });
const dual: NetworkStatus = {
  cidr: '10.20.0.0/24',
  gateway: '10.20.0.254',
  secondary: { cidr: 'fd00:20::/64', gateway: 'fd00:20::fe' },
  vni: FIRST_VNI,
  mtu: 1430,
  nodes: ALL,
};
const other: NetworkStatus = {
  cidr: '10.21.0.0/24',
  gateway: '10.21.0.1',
  vni: FIRST_VNI + 1,
  mtu: 1430,
  nodes: labNodes({ a: 1 }),
};
/** Pings after one without an answer: the kernel may still wait for the answer to its first question for the neighbour. */
const AFTER_SILENCE = 4;
const bridge = bridgeName('default/dual');
const tunnel = tunnelName(bridge);

let lab: MeshLab;
let a: LabNode;
let b: LabNode;
let c: LabNode;
let network: Network;
let pods: Record<'a' | 'b' | 'c' | 'other', LabPod>;

describeWithNode('three nodes', () => {
  beforeAll(async () => {
    lab = await MeshLab.start();
    a = await lab.addNode('a', 1);
    b = await lab.addNode('b', 2);
    c = await lab.addNode('c', 3);
    network = lab.tell('dual', dual);
  });

  afterAll(() => lab?.stop());

  test('a Network gives no address to a pod before the node agent has joined the node', async () => {
    await expect(a.startPod(network, ['10.20.0.1/24'])).rejects.toThrow(
      'this node is not connected to the Network yet',
    );
  });

  test('nodes are joined to a Network, and applying twice does nothing the second time', async () => {
    for (const { report, joined } of await lab.sync()) {
      expect(report).toMatchObject({ version: 2, ranges: ['192.0.2.0/24', '2001:db8::/64'] });
      expect(report.problems).toEqual({});
      expect(joined).toBe(1);
    }
    const programs = jest.spyOn(a.host, 'take');
    const before = await stateOf(a);
    await lab.sync();
    expect(programs.mock.calls.flatMap(([steps]) => steps)).toEqual([]);
    programs.mockRestore();
    expect(await stateOf(a)).toEqual(before);
  });

  test('a Network connects pods of both families, as large as the MTU says, and none without addresses', async () => {
    await expect(a.startPod(network, [])).rejects.toThrow('missing IP config');
    const start = (node: LabNode, number: number) =>
      node.startPod(network, [`10.20.0.${number}/24`, `fd00:20::${number}/64`]);
    const other1 = lab.tell('other', other);
    await lab.sync();
    pods = {
      a: await start(a, 1),
      b: await start(b, 2),
      c: await start(c, 3),
      other: await a.startPod(other1, ['10.21.0.2/24']),
    };
    expect(pods.a.addresses).toEqual(['10.20.0.1/24', 'fd00:20::1/64']);
    for (const address of ['10.20.0.2', '10.20.0.3', '10.20.0.254', 'fd00:20::fe']) {
      expect(await pods.a.reaches(address)).toBe(true);
    }
    expect(await pods.a.reaches('10.20.0.2', 1430 - 28)).toBe(true);
    expect(await pods.b.reaches('fd00:20::3', 1430 - 48)).toBe(true);
  });

  test('Networks give no address to pods of other namespaces, except on shared Networks', async () => {
    const runtimeConfig = { ips: ['10.20.0.9/24'] };
    // What a user can write: `cni-args` of the annotation.
    const args = { cni: { name: 'team.dual', ipam: { shared: true, type: 'static' } } };
    const config = { ...labConfig(network), runtimeConfig, args };
    await expect(a.startPodBy(config, 'team')).rejects.toThrow(
      'pods in namespace team may not use this Network',
    );
    const ipam = { shared: true, type: NODE_IPAM };
    const pod = await a.startPodBy({ ...config, ipam }, 'team');
    expect(pod.addresses).toEqual(['10.20.0.9/24']);
    await a.stopPod(pod);
  });

  test('a Network has its gateway on each node, and no pod asks that of another', async () => {
    // Where one was heard from afar, that would be learned.
    const { tunnels } = await a.host.links();
    expect(tunnels.get(tunnel)?.learned.filter(({ mac }) => mac.startsWith('02:6e:77'))).toEqual([]);
  });

  test('Networks let nobody in from outside, and let their pods out under the name of the node', async () => {
    await lab.wire.sh('ip address add 192.0.2.200/24 dev wire && ip route add 10.20.0.0/24 via 192.0.2.1');
    await pods.a.space.sh('ip route add default via 10.20.0.254');
    await pods.other.space.sh('ip route add default via 10.21.0.1');
    const asked = '10.20.0.1';
    expect(await pods.other.reaches('10.20.0.1', 1)).toBe(false);
    expect(await pinged(lab.wire, asked)).toBe(false);
    // The way out, with an address that has no way back; and the node's own way in.
    expect(await pods.a.reaches('192.0.2.200')).toBe(true);
    expect(await pods.other.reaches('192.0.2.3')).toBe(true);
    expect(await pinged(a.space, asked)).toBe(true);
    // The same by IPv6. The node itself stays a host, which takes its routes from router advertisements.
    await lab.wire.sh('ip address add 2001:db8::200/64 dev wire nodad');
    await pods.a.space.sh('ip -6 route add default via fd00:20::fe');
    expect(await pods.a.reaches('2001:db8::200')).toBe(true);
    expect(await forwarding(a)).toEqual(['0', `${bridge} eth0`]);
    // It is the table that holds them off.
    await a.sh('nft delete table inet envoy-initializer');
    expect(await pinged(lab.wire, asked, AFTER_SILENCE)).toBe(true);
    expect(await pods.other.reaches('10.20.0.1')).toBe(true);
    await a.sync();
    expect(await pinged(lab.wire, asked)).toBe(false);
    await lab.wire.sh('ip route delete 10.20.0.0/24');
  });

  test('Networks take packets of their VNIs from peers alone, and leave those of others alone', async () => {
    const device = (vni: number, remote: string, address: string) =>
      `ip link add v${vni} type vxlan id ${vni} remote ${remote} dstport 4789 && ip address add ${address} dev v${vni} && ip link set v${vni} up`;
    await lab.wire.sh(device(FIRST_VNI, '192.0.2.1', '10.20.0.99/24'));
    const asked = `-I v${FIRST_VNI} 10.20.0.1`;
    expect(await pinged(lab.wire, asked)).toBe(false);
    const learned = async () => (await a.host.links()).tunnels.get(tunnel)?.learned.map(({ peer }) => peer);
    expect(await learned()).not.toContain('192.0.2.200');
    await a.sh('nft delete table inet envoy-initializer');
    expect(await pinged(lab.wire, asked, AFTER_SILENCE)).toBe(true);
    expect(await learned()).toContain('192.0.2.200');
    await a.sync();
    expect(await learned()).not.toContain('192.0.2.200');
    expect(await pinged(lab.wire, asked)).toBe(false);
    // As Calico's on the same port.
    await lab.wire.sh(device(4096, '192.0.2.1', '10.96.0.1/24'));
    await a.sh(device(4096, '192.0.2.200', '10.96.0.2/24'));
    expect(await pinged(lab.wire, '10.96.0.2')).toBe(true);
    await a.sh('ip link delete v4096');
    await lab.wire.sh(`ip link delete v4096 && ip link delete v${FIRST_VNI}`);
  });

  test('Networks take no packets of their VNIs that pods send under the name of a peer', async () => {
    const mac = '02:00:00:00:66:66';
    const device = `type vxlan id ${FIRST_VNI} remote 192.0.2.2 dstport 4789`;
    await pods.other.space.sh(
      `ip link add evil address ${mac} ${device} && ip address add 10.20.0.66/24 dev evil && ip link set evil up`,
    );
    expect(await pinged(pods.other.space, '-I evil 10.20.0.2')).toBe(false);
    const learned = (await b.host.links()).tunnels.get(tunnel)?.learned.map((each) => each.mac);
    expect(learned).not.toContain(mac);
    await pods.other.space.sh('ip link delete evil');
  });

  test.each([
    ['a changed tunnel', `ip link delete ${tunnel}`],
    ['another gateway', `ip address flush dev ${bridge} && ip address add 10.20.0.9/24 dev ${bridge}`],
    ['a lost peer', `bridge fdb delete 00:00:00:00:00:00 dev ${tunnel} dst 192.0.2.2`],
    ['a peer too many', `bridge fdb append 00:00:00:00:00:00 dev ${tunnel} dst 192.0.2.77`],
    ['a tunnel unplugged', `ip link set ${tunnel} nomaster down`],
    [
      'a tunnel of another place',
      `ip link delete ${tunnel} && ip link add ${tunnel} type vxlan id 7 local 192.0.2.9 dstport 4790`,
    ],
    ['another hardware address', `ip link set ${bridge} address 02:00:00:00:00:07`],
    ['no rules', 'nft flush table inet envoy-initializer'],
    ['no forwarding', 'echo 0 >/proc/sys/net/ipv4/ip_forward'],
  ])('a Network is mended after %s', async (_, harm) => {
    const before = await stateOf(a);
    await a.sh(harm);
    expect(await stateOf(a)).not.toEqual(before);
    expect((await a.sync()).problem).toBeUndefined();
    expect(await stateOf(a)).toEqual(before);
    expect(await pods.a.reaches('10.20.0.2')).toBe(true);
    expect(await pods.b.reaches('10.20.0.254')).toBe(true);
  });

  describe('go on', () => {
    let pings: readonly Pings[] = [];

    beforeAll(() => {
      pings = [
        new Pings(pods.a.space, '10.20.0.2'),
        new Pings(pods.a.space, 'fd00:20::2'),
        new Pings(pods.b.space, '10.20.0.1'),
        new Pings(pods.b.space, '10.20.0.254'),
      ];
    });

    test('a Network goes on while agents are away, and pods start on what is joined', async () => {
      const late = lab.tell('late', {
        ...other,
        cidr: '10.22.0.0/24',
        gateway: '10.22.0.1',
        vni: FIRST_VNI + 2,
      });
      const pod = await a.startPod(network, ['10.20.0.4/24']);
      expect(await pod.reaches('10.20.0.3')).toBe(true);
      await a.stopPod(pod);
      await expect(a.startPod(late, ['10.22.0.2/24'])).rejects.toThrow(
        'this node is not connected to the Network yet',
      );
      lab.networks.delete('late');
      // The plugin has made a bridge.
      await lab.linger();
    });

    test('a Network goes on when agents restart', async () => {
      for (const [number, node] of [a, b, c].entries()) node.restart(`192.0.2.${number + 1}`);
      await lab.sync();
    });

    test('a Network goes on while the API server is away, and where all lists are empty', async () => {
      const before = await stateOf(a);
      const all = new Map(lab.networks);
      lab.networks.clear();
      await lab.linger();
      expect(await stateOf(a)).toEqual(before);
      for (const [name, one] of all) lab.networks.set(name, one);
    });

    test.each<[string, NetworkStatus | undefined]>([
      ['has no status', undefined],
      ['names no nodes', { ...dual, nodes: undefined }],
      ['has no VNI', { ...dual, vni: undefined }],
      ['has a range that is none', { ...dual, cidr: '10.20.0.0' }],
    ] as [string, NetworkStatus | undefined][])(
      'a Network goes on while its object %s',
      async (_, status) => {
        const before = await stateOf(a);
        lab.tell('dual', status);
        await lab.linger();
        expect(await stateOf(a)).toEqual(before);
        const pod = await b.startPod(network, ['10.20.0.5/24']);
        expect(await pod.reaches('10.20.0.1')).toBe(true);
        await b.stopPod(pod);
        lab.tell('dual', dual);
        await lab.linger();
        expect(await stateOf(a)).toEqual(before);
      },
    );

    test('a Network goes on when the node of the last pod of another Network lets go of that', async () => {
      await a.stopPod(pods.other);
      lab.tell('other', { ...other, nodes: [] });
      const links = () => a.sh('ip -oneline link');
      await lab.sync();
      expect(await links()).toContain(bridgeName('default/other'));
      await lab.linger();
      expect(await links()).not.toContain(bridgeName('default/other').slice(3));
      await expect(a.startPod(lab.tell('other', other), ['10.21.0.2/24'])).rejects.toThrow(
        'not connected to the Network yet',
      );
    });

    test('a Network goes on with a pod that is on a node which the status does not name', async () => {
      lab.tell('other', other);
      await a.sync();
      const pod = await a.startPod(lab.tell('other', { ...other, nodes: [] }), ['10.21.0.2/24']);
      await lab.linger();
      await lab.linger();
      expect(await pod.reaches('10.21.0.1')).toBe(true);
      await a.stopPod(pod);
    });

    test('a Network goes on that takes the range of one that is gone', async () => {
      lab.networks.delete('other');
      const heir = lab.tell('heir', { ...other, vni: FIRST_VNI + 3 });
      expect((await a.sync()).problem).toBeUndefined();
      const pod = await a.startPod(heir, ['10.21.0.2/24']);
      expect(await pinged(a.space, '10.21.0.2')).toBe(true);
      await a.stopPod(pod);
      lab.networks.delete('heir');
      await a.sync();
      expect(await a.sh('ip -oneline link')).not.toContain(bridgeName('default/heir'));
    });

    test.each(['10.77.0.128/25', '192.0.2.0/24'])(
      'a Network goes on when its status has a range that the node has, which is not made: %s',
      async (cidr) => {
        // A second LAN of the node, and that by which the nodes reach each other.
        await a.sh(
          'ip link add lan0 type bridge && ip address add 10.77.0.1/24 dev lan0 && ip link set lan0 up',
        );
        const links = await a.sh('ip -oneline link');
        const forged = lab.tell('forged', { ...other, cidr, gateway: cidr.replace(/\d+\/.*/, '200') });
        const { report, joined } = await a.sync();
        expect(report.problems['default/forged']).toMatch(
          / overlaps .* (?:on this node|of this node).*, so this Network is left out$/,
        );
        expect(joined).toBe(1);
        expect(await a.sh('ip -oneline link')).toBe(links);
        await expect(a.startPod(forged, ['10.77.0.130/25'])).rejects.toThrow(
          'not connected to the Network yet',
        );
        await a.sh('ip link delete lan0');
        lab.networks.delete('forged');
        await a.sync();
      },
    );

    test('a Network goes on when a route comes that its range meets, and the node says so', async () => {
      await a.sh('ip route add 10.20.0.240/28 via 192.0.2.2');
      expect((await a.sync()).report.problems).toEqual({
        'default/dual': "10.20.0.0/24 overlaps 10.20.0.240/28 of this node's route via eth0",
      });
      await a.sh('ip route delete 10.20.0.240/28');
      expect((await a.sync()).report.problems).toEqual({});
    });

    test('a Network goes on when a node has another name than before, and both are in the status', async () => {
      lab.tell('dual', { ...dual, nodes: [...ALL, { name: 'before', address: '192.0.2.1' }] });
      await lab.sync();
      await pinged(pods.a.space, '10.20.0.77');
      const found = (await a.host.links()).tunnels.get(tunnel);
      expect(found?.peers.toSorted()).toEqual(['192.0.2.2', '192.0.2.3']);
      // What the node sends to itself would be learned with the peer 127.0.0.1.
      expect(found?.learned.map(({ peer }) => peer)).not.toContain('127.0.0.1');
      lab.tell('dual', dual);
      await lab.sync();
    });

    test('a Network goes on when a node comes, and when one is cut off and goes', async () => {
      const d = await lab.addNode('d', 4);
      lab.tell('dual', { ...dual, nodes: labNodes({ a: 1, b: 2, c: 3, d: 4 }) });
      await lab.sync();
      const pod = await d.startPod(network, ['10.20.0.6/24']);
      expect(await pod.reaches('10.20.0.1')).toBe(true);
      await lab.plug(4, false);
      lab.tell('dual', dual);
      for (const node of [a, b, c]) await node.sync();
      const found = (await a.host.links()).tunnels.get(tunnel);
      expect(found?.peers.toSorted()).toEqual(['192.0.2.2', '192.0.2.3']);
      expect(found?.learned.some(({ peer }) => peer === '192.0.2.4')).toBe(false);
      // Its own agent has not heard of it.
      expect(await pod.reaches('10.20.0.254')).toBe(true);
      await lab.removeNode('d', 4);
    });

    afterAll(async () => {
      const lost = await Promise.all(pings.map((one) => one.lost()));
      // A packet each would be as much as a failure.
      expect(lost).toEqual(pings.map(() => []));
    });
  });

  test('a Network goes by the addresses that nodes have, IPv6 too, and says which node has none', async () => {
    const six = (name: string, number: number) => ({ name, address: `2001:db8::${number}` });
    lab.tell('dual', { ...dual, nodes: [six('a', 1), six('b', 2), ...labNodes({ c: 3 })] });
    a.restart('2001:db8::1');
    b.restart('2001:db8::2');
    const [first] = await lab.sync();
    expect((await a.host.links()).tunnels.get(tunnel)?.local).toBe('2001:db8::1');
    expect(first?.problem).toBe('default/dual: node c and 2001:db8::1 share no IP family');
    expect(await pods.a.reaches('10.20.0.2', 1430 - 28)).toBe(true);
    expect(await pods.b.reaches('fd00:20::1')).toBe(true);
  });

  test('Networks leave nothing on their nodes when they go', async () => {
    lab.networks.clear();
    for (const [node, pod] of [
      [a, pods.a],
      [b, pods.b],
      [c, pods.c],
    ] as const)
      await node.stopPod(pod);
    await lab.linger();
    for (const node of [a, b, c]) {
      expect(await stateOf(node)).toEqual(expect.objectContaining({ bridges: {}, tunnels: {}, joined: [] }));
      expect(await node.sh('nft list ruleset')).toBe('');
    }
  });
});

/** Whether a ping is answered. */
function pinged(space: Space, words: string, count = 1): Promise<boolean> {
  return space.sh(`busybox ping -c ${count} -W 2 ${words}`).then(
    () => true,
    () => false,
  );
}

/** Whether the node is a router of IPv6, and the devices that forward it for themselves. */
async function forwarding(node: LabNode): Promise<readonly string[]> {
  const conf = '/proc/sys/net/ipv6/conf';
  const devices = await node.sh(`grep -l 1 ${conf}/*/force_forwarding`);
  const names = Array.from(devices.matchAll(/conf\/(.*)\/force/g), ([, name]) => name);
  return [(await node.sh(`cat ${conf}/all/forwarding`)).trim(), names.toSorted().reverse().join(' ')];
}

/** All that an agent sees to on a node, without what the kernel learns by itself. */
async function stateOf(node: LabNode): Promise<unknown> {
  const { bridges, tunnels } = await node.host.links();
  const told = Array.from(tunnels, ([name, { learned, peers, ...tunnelLink }]) => {
    return [name, { ...tunnelLink, peers: peers.toSorted() }];
  });
  return {
    bridges: Object.fromEntries(
      Array.from(bridges, ([name, { addresses, ...rest }]) => [
        name,
        { ...rest, addresses: addresses.toSorted() },
      ]),
    ),
    tunnels: Object.fromEntries(told),
    rules: await node.sh('nft --stateless list ruleset'),
    forwarding: await node.sh('cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding'),
    joined: [...(await node.host.joined())].toSorted(),
  };
}
