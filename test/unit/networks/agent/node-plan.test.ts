import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { agentNetwork, type NodeNetwork } from '../../../../src/networks/agent/desired.ts';
import { ALL_PEERS, type NodeLinks, tunnelName } from '../../../../src/networks/agent/links.ts';
import { type NodePlan, nodePlan } from '../../../../src/networks/agent/node-plan.ts';
import type { NetworkStatus } from '../../../../src/networks/api/types.ts';
import { FIRST_VNI } from '../../../../src/networks/multus/cni-config.ts';
import { ModelNode } from '../../../support/network/model-node.ts';
import { newNetwork } from '../networks.ts';

const none: NodeLinks = { bridges: new Map(), tunnels: new Map(), plugged: new Set(), devices: [] };
const PEERS = ['192.0.2.2', '192.0.2.3', '192.0.2.4'];

function network(
  name: string,
  cidr: string,
  number: number,
  status: NetworkStatus = {},
  peers = PEERS,
): NodeNetwork {
  const nodes = ['here', ...peers].map((address) => ({ name: address, address }));
  const gateway = cidr.replace(/0?\/.*/, '1');
  const all = { cidr, gateway, vni: FIRST_VNI + number, mtu: 1450, nodes, ...status };
  const { network: read } = agentNetwork(newNetwork({ name, status: all }), 'here');
  if (!read) throw new Error('this is not what agents join');
  return read;
}

interface Facts {
  readonly local?: string;
  readonly mtu?: number;
  readonly unneeded?: readonly string[];
  readonly due?: readonly string[];
}

function plan(networks: readonly NodeNetwork[], links: NodeLinks, facts: Facts = {}): NodePlan {
  const { local = '192.0.2.1', mtu = 1500, unneeded = [], due = [] } = facts;
  return nodePlan({
    ...{ networks, links, routes: [], port: 4789, underlay: { address: local, mtu } },
    ...{ unneeded: new Set(unneeded), due: new Set(due) },
  });
}

const linesOf = ({ remove, join }: NodePlan) =>
  [...remove, ...join].flatMap(({ ip, fdb }) => [...ip, ...fdb]);

test('the plan of an empty node has a bridge with both gateways, a tunnel, and each peer', () => {
  const secondary = { cidr: 'fd00:20::/64', gateway: 'fd00:20::1' };
  const blue = network('blue', '10.20.0.0/24', 1, { secondary }, ['192.0.2.2', '192.0.2.3']);
  const addresses = ['192.0.2.1', '2001:db8::1'].map((address) => ({ address, prefixLength: 24 }));
  const devices = [
    { name: 'lo', mtu: 65_536, addresses: [{ address: '::1', prefixLength: 128 }] },
    { name: 'eth0', mtu: 1500, addresses },
    { name: 'eth1', mtu: 1500, addresses: addresses.slice(0, 1) },
  ];
  const { join, rules, forwards } = plan([blue], { ...none, devices });
  const { bridge } = blue;
  const tunnel = tunnelName(bridge);
  expect(join).toEqual([
    {
      bridge,
      ip: [
        `link add name ${bridge} type bridge`,
        `link set dev ${bridge} address 02:6e:77:80:00:01`,
        `link set dev ${bridge} up`,
        `address add 10.20.0.1/24 dev ${bridge}`,
        `address add fd00:20::1/64 dev ${bridge} nodad`,
        `link add name ${tunnel} mtu 1450 type vxlan id 8388609 local 192.0.2.1 dstport 4789`,
        `link set dev ${tunnel} addrgenmode none`,
        `link set dev ${tunnel} master ${bridge}`,
        `link set dev ${tunnel} type bridge_slave neigh_suppress on`,
        `link set dev ${tunnel} up`,
      ],
      fdb: [
        `fdb replace 02:6e:77:80:00:01 dev ${tunnel} dst 192.0.2.1 static`,
        `fdb append ${ALL_PEERS} dev ${tunnel} dst 192.0.2.2`,
        `fdb append ${ALL_PEERS} dev ${tunnel} dst 192.0.2.3`,
      ],
    },
  ]);
  expect(rules.text).toContain(`@th,96,24 { 8388609 } ip saddr != { 192.0.2.2, 192.0.2.3 } drop`);
  expect(rules.text).toContain(`ip6 saddr fd00:20::/64 oifname != "${bridge}" masquerade`);
  expect(forwards).toEqual({ ipv4: true, ipv6: [bridge, 'eth0'] });
});

test('a Network with an address of the node is not made, also where no route leads to the address', () => {
  const blue = network('blue', '10.20.0.0/24', 1);
  const lo = { name: 'lo', mtu: 65_536, addresses: [{ address: '10.20.0.77', prefixLength: 32 }] };
  const { join, refused } = plan([blue], { ...none, devices: [lo] });
  expect(join).toEqual([]);
  expect(refused.get(blue.bridge)).toBe(
    '10.20.0.0/24 overlaps 10.20.0.77 of interface lo on this node, so this Network is left out',
  );
});

test('a Network without an MTU gets the largest that fits, and a larger one is reported', () => {
  const small = (of: NodeNetwork) => plan([of], none, { mtu: 1400 });
  const { mtu: _, ...open } = network('open', '10.20.0.0/24', 1);
  expect(linesOf(small({ ...open, mtu: undefined })).join()).toContain(' mtu 1350 type vxlan');
  const large = network('large', '10.20.0.0/24', 1);
  expect(linesOf(small(large)).join()).toContain(' mtu 1450 type vxlan');
  expect([...small(large).warnings.values()]).toEqual([
    "the Network's MTU of 1450 exceeds this node's maximum of 1350",
  ]);
});

/** A node on which these Networks are joined. */
function joined(...networks: readonly NodeNetwork[]): ModelNode {
  const node = new ModelNode();
  for (const line of linesOf(plan(networks, node.links()))) node.run(line);
  return node;
}

const blue = network('blue', '10.20.0.0/24', 1);
const green = network('green', '10.21.0.0/24', 2);

test('the plan of a node keeps a Network that is not understood, with its rules', () => {
  const links = joined(blue, green).links();
  const before = plan([blue, green], links);
  const after = plan([], links);
  expect(linesOf(after)).toEqual([]);
  expect(after.rules).toEqual(before.rules);
});

test('a Network that lingers stays joined, and goes when it is due', () => {
  const links = joined(blue, green).links();
  const elsewhere = { ...green, isHere: false };
  const unneeded = [green.bridge];
  const { others: _, ...rest } = elsewhere;
  const lessPeers = { ...rest, others: [] };
  expect(linesOf(plan([blue, elsewhere], links, { unneeded }))).toEqual([]);
  expect(linesOf(plan([blue, lessPeers], links, { unneeded }))).toHaveLength(PEERS.length);
  const gone = plan([blue, elsewhere], links, { unneeded, due: unneeded });
  expect(linesOf(gone)).toEqual([
    `link delete dev ${tunnelName(green.bridge)}`,
    `link delete dev ${green.bridge}`,
  ]);
  expect(gone.rules.text).not.toContain(green.bridge);
});

test('a bridge that nobody needs goes at once if another Network has its range', () => {
  const links = joined(blue).links();
  const heir = network('heir', '10.20.0.0/25', 7);
  const replaced = plan([heir], links, { unneeded: [blue.bridge] });
  expect(replaced.remove.map(({ bridge }) => bridge)).toEqual([blue.bridge]);
  expect(replaced.refused).toEqual(new Map());
  // With pods, it stays, and so the heir is not made.
  const refused = plan([heir], links);
  expect(linesOf(refused)).toEqual([]);
  expect(refused.refused.get(heir.bridge)).toBe(
    `10.20.0.0/25 overlaps 10.20.0.0/24 of bridge ${blue.bridge} of another Network on this node, so this Network is left out`,
  );
});

const networks = fc
  .subarray([
    blue,
    network('blue', '10.22.0.0/24', 1),
    network('blue', '10.20.0.0/24', 7, { mtu: 1400 }),
    network('blue', '10.20.0.0/24', 1, {}, ['192.0.2.9']),
    network('green', 'fd00:1::/64', 2, { gateway: 'fd00:1::1' }, []),
    network('red', '10.23.0.0/16', 3, { cidr: '10.23.0.0/16', gateway: '10.23.0.9' }),
  ])
  .map((all) => [...new Map(all.map((one) => [one.key, one])).values()]);

test('nodePlan reaches the desired state in one round, is empty then, and never deletes a tunnel', () => {
  const round = fc.record({
    wanted: networks,
    local: fc.constantFrom('192.0.2.1', '192.0.2.8'),
    heard: fc.constantFrom('192.0.2.2', '192.0.2.9'),
  });
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 6 }), (rounds) => {
      const node = new ModelNode();
      const ever = new Set<string>();
      for (const { wanted, local, heard } of rounds) {
        node.hear(heard);
        const first = plan(wanted, node.links(), { local });
        const { refused } = first;
        for (const line of linesOf(first)) node.run(line);
        expect(linesOf(plan(wanted, node.links(), { local }))).toEqual([]);
        const { tunnels, bridges } = node.links();
        const made = wanted.filter(({ bridge }) => !refused.has(bridge));
        for (const { bridge } of made) ever.add(tunnelName(bridge));
        expect(new Set(tunnels.keys())).toEqual(ever);
        for (const { bridge, vni, ranges, others } of made) {
          const tunnel = tunnels.get(tunnelName(bridge));
          if (!tunnel) throw new Error('it is one of those that there are');
          const peers = others.map(({ address }) => address);
          expect(tunnel).toMatchObject({ local, vni, bridge, isUp: true, suppressesNeighbours: true });
          expect(new Set(tunnel.peers)).toEqual(new Set(peers));
          expect(tunnel.learned.filter(({ peer }) => !peers.includes(peer))).toEqual([]);
          expect(new Set(bridges.get(bridge)?.addresses)).toEqual(
            new Set(ranges.map(({ gateway, range }) => `${gateway}/${range.prefixLength}`)),
          );
        }
      }
    }),
  );
});
