import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  FIRST_VNI,
  type MeshNetwork,
  meshNetwork,
} from '../../../src/network/providers/multus/cni-config.ts';
import { meshPlan } from '../../../src/node-agent/bridge-plan.ts';
import { ALL_PEERS, type NodeLinks, tunnelName } from '../../../src/node-agent/links.ts';
import { ModelNode } from '../../support/model-node.ts';

function network(name: string, cidr: string, gateway: string, number: number, mtu = 1450): MeshNetwork {
  const mesh = { vni: FIRST_VNI + number, mtu };
  const joined = meshNetwork(`default/${name}`, { cidr, gateway }, mesh);
  if (!joined) throw new Error('this is not what agents join');
  return joined;
}

const none: NodeLinks = { bridges: new Map(), tunnels: new Map(), pods: new Map(), others: [] };
const blue = network('blue', '10.20.0.0/24', '10.20.0.1', 1);

test('meshPlan joins a network on an empty node', () => {
  const green = network('green', 'fd00:1::/64', 'fd00:1::1', 2);
  const [first, second] = meshPlan([blue, green], { local: '192.0.2.1', peers: ['192.0.2.2'] }, none);
  const [bridge, tunnel] = [blue.bridge, first?.tunnel];
  expect(first?.ip).toEqual([
    `link add name ${bridge} address 02:6e:77:80:00:01 type bridge`,
    `link set dev ${bridge} up`,
    `address add 10.20.0.1/24 dev ${bridge}`,
    `link add name ${tunnel} mtu 1450 type vxlan id 8388609 local 192.0.2.1 dstport 4789`,
    `link set dev ${tunnel} addrgenmode none`,
    `link set dev ${tunnel} master ${bridge}`,
    `link set dev ${tunnel} type bridge_slave neigh_suppress on`,
    `link set dev ${tunnel} up`,
  ]);
  expect(first?.bridge).toEqual([
    `fdb replace 02:6e:77:80:00:01 dev ${tunnel} dst 192.0.2.1 static`,
    `fdb append ${ALL_PEERS} dev ${tunnel} dst 192.0.2.2`,
  ]);
  expect(second?.ip).toContain(`address add fd00:1::1/64 dev ${green.bridge} nodad`);
});

const networks = fc.subarray([
  blue,
  network('blue', '10.21.0.0/24', '10.21.0.1', 1),
  network('blue', '10.20.0.0/24', '10.20.0.1', 7, 1400),
  network('green', 'fd00:1::/64', 'fd00:1::1', 2),
  network('red', '10.22.0.0/16', '10.22.0.9', 3),
]);
/** Each name has one Network. */
const different = networks.map((all) => [...new Map(all.map((one) => [one.key, one])).values()]);
const underlay = fc.record({
  local: fc.constantFrom('192.0.2.1', '192.0.2.9'),
  peers: fc.subarray(['192.0.2.2', '192.0.2.3', '192.0.2.4']),
});

describe('meshPlan on a node with any links and learned entries', () => {
  test('reaches the desired state in one round, is empty in the next, and never deletes a tunnel', () => {
    const round = fc.record({
      networks: different,
      underlay,
      heard: fc.constantFrom('192.0.2.2', '192.0.2.3'),
    });
    fc.assert(
      fc.property(fc.array(round, { minLength: 1, maxLength: 6 }), (rounds) => {
        const node = new ModelNode();
        const ever = new Set<string>();
        for (const { networks: wanted, underlay: by, heard } of rounds) {
          node.hear(heard);
          for (const { ip, bridge } of meshPlan(wanted, by, node.links()))
            for (const line of [...ip, ...bridge]) node.run(line);
          expect(meshPlan(wanted, by, node.links())).toEqual([]);
          const { tunnels, bridges } = node.links();
          for (const { bridge } of wanted) ever.add(tunnelName(bridge));
          expect(new Set(tunnels.keys())).toEqual(ever);
          for (const { bridge } of wanted) {
            const tunnel = tunnels.get(tunnelName(bridge));
            if (!tunnel) throw new Error('it is one of those that there are');
            expect(tunnel).toMatchObject({ local: by.local, isUp: true, suppressesNeighbours: true });
            expect(new Set(tunnel.peers)).toEqual(new Set(by.peers));
            expect(tunnel.learned.filter(({ peer }) => !by.peers.includes(peer))).toEqual([]);
          }
          for (const { bridge, vni, gateway, range } of wanted) {
            const found = [...tunnels.values()].filter((tunnel) => tunnel.bridge === bridge);
            expect(found).toMatchObject([{ vni }]);
            expect(bridges.get(bridge)?.addresses).toEqual([`${gateway}/${range.prefixLength}`]);
          }
        }
      }),
    );
  });
});
