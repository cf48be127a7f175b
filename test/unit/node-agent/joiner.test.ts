import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import type { NetworkStatus } from '../../../src/network/api/types.ts';
import type { ClusterRange } from '../../../src/network/ipam/cluster-ranges.ts';
import { meshNetworkOf } from '../../../src/network/nodes/mesh-network.ts';
import { bridgeName, FIRST_VNI, type MeshNetwork } from '../../../src/network/providers/multus/cni-config.ts';
import type { MeshStep } from '../../../src/node-agent/bridge-plan.ts';
import { Joiner } from '../../../src/node-agent/joiner.ts';
import type { NodeLinks } from '../../../src/node-agent/links.ts';
import { newNetwork } from '../network/networks.ts';
import { range } from '../network/ranges.ts';

const table = JSON.stringify({
  a: { number: 1, addresses: ['192.0.2.1'], uid: '' },
  b: { number: 2, addresses: ['192.0.2.2'], uid: '' },
  // As some virtual kubelets are.
  none: { number: 3, addresses: [], uid: '' },
});

const status: NetworkStatus = { cidr: '10.20.0.0/24', gateway: '10.20.0.1', vni: FIRST_VNI };
const blue = joined('blue', status);
const green = joined('green', { cidr: '10.21.0.0/24', gateway: '10.21.0.1', vni: FIRST_VNI + 1 });

function joined(name: string, recorded: NetworkStatus): MeshNetwork {
  const network = meshNetworkOf(newNetwork({ name, status: recorded }), 1450);
  if (!network) throw new Error('agents cannot join this Network');
  return network;
}

function stage(networks: readonly MeshNetwork[], routes: readonly ClusterRange[] = []) {
  const taken: MeshStep[] = [];
  const slices = new Map<string, string>();
  const links: NodeLinks = { bridges: new Map(), tunnels: new Map(), pods: new Map(), others: [] };
  const node = { networks, routes, links, needed: new Set<string>() as ReadonlySet<string> | undefined };
  const joiner = new Joiner({
    node: 'a',
    host: {
      links: async () => node.links,
      routes: async () => node.routes,
      take: async (step) => {
        taken.push(step);
      },
      keepSlices: async (wanted, isKept = () => false) => {
        for (const name of slices.keys()) if (!wanted.has(name) && !isKept(name)) slices.delete(name);
        for (const [name, text] of wanted) slices.set(name, text);
      },
    },
    table: () => table,
    networks: () => node.networks,
    needed: () => node.needed,
    log: pino({ level: 'silent' }),
  });
  return { node, taken, slices, join: () => joiner.join() };
}

const lan = (cidr: string): ClusterRange => ({ range: range(cidr), of: 'a route of this node by eth1' });
const gatewayOf = ({ gateway, range: { prefixLength } }: MeshNetwork) => `${gateway}/${prefixLength}`;

test('a Network that overlaps a route of the node is not created, and does not delay others', async () => {
  const { taken, slices, join } = stage([blue, green], [lan('10.20.0.128/25')]);
  slices.set(blue.bridge, 'of an earlier range');
  const report = await join();
  expect(report.problem).toBe(
    'default/blue: 10.20.0.0/24 overlaps 10.20.0.128/25 of a route of this node by eth1: it is not created on this node',
  );
  expect(report.networks).toEqual({ 'default/green': green.digest });
  expect(JSON.stringify(taken)).not.toContain(blue.bridge);
  expect(JSON.stringify(taken)).toContain(green.bridge);
  expect([...slices.keys()]).toEqual([green.bridge]);
});

test('a Network that the node already has stays when such a route appears, and the report has the problem', async () => {
  const { node, slices, join } = stage([blue], [lan('10.20.0.128/25')]);
  const bridge = { mac: '', isUp: true, addresses: [gatewayOf(blue)] };
  node.links = { ...node.links, bridges: new Map([[blue.bridge, bridge]]) };
  const report = await join();
  expect(report.networks).toEqual({ 'default/blue': blue.digest });
  expect(report.problem).toContain('10.20.0.0/24 overlaps 10.20.0.128/25');
  expect([...slices.keys()]).toEqual([blue.bridge]);
});

test('addresses of the node count like its routes', async () => {
  const { node, join } = stage([blue]);
  node.links = {
    ...node.links,
    others: [{ range: range('10.20.0.9/32'), of: 'interface eth1 of this node' }],
  };
  expect((await join()).problem).toContain('10.20.0.0/24 overlaps 10.20.0.9 of interface eth1 of this node');
});

test('a node without an address does not change the reports of other agents', async () => {
  expect(await stage([blue]).join()).toMatchObject({ networks: { 'default/blue': blue.digest } });
});

test('slices stay for Networks that may be needed, and all stay while that is unknown', async () => {
  const { node, slices, join } = stage([blue]);
  for (const key of ['default/unread', 'default/gone']) slices.set(bridgeName(key), '');
  node.needed = undefined;
  await join();
  expect(slices.size).toBe(3);
  node.needed = new Set([bridgeName('default/unread')]);
  await join();
  expect(new Set(slices.keys())).toEqual(new Set([blue.bridge, bridgeName('default/unread')]));
});

test('no step removes a link of another Network, for any lists and statuses', async () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('10.20.0.0/24', '10.20.0.1', '10.9.0.0/16'));
  const number = fc.oneof(fc.integer(), fc.constantFrom(FIRST_VNI, FIRST_VNI - 1));
  const statuses = fc.record(
    { cidr: text, gateway: text, vni: number, mtu: fc.integer({ min: 68, max: 9000 }) },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(statuses, { maxLength: 4 }), async (all) => {
      const networks = all.flatMap(
        (recorded, i) => meshNetworkOf(newNetwork({ name: `n${i}`, status: recorded }), 1450) ?? [],
      );
      const { node, taken, join } = stage(networks);
      const bridge = { mac: '', isUp: true, addresses: [gatewayOf(blue)] };
      node.links = { ...node.links, bridges: new Map([[blue.bridge, bridge]]) };
      await join();
      const own = new Set(networks.map((network) => network.bridge.slice(3)));
      for (const { tunnel } of taken) expect(own).toContain(tunnel.slice(3));
      expect(JSON.stringify(taken)).not.toContain(blue.bridge);
    }),
  );
});
