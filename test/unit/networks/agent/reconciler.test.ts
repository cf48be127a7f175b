import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import { JOINED } from '../../../../src/networks/agent/cni-plugins.ts';
import { agentNetwork } from '../../../../src/networks/agent/desired.ts';
import { Host } from '../../../../src/networks/agent/host.ts';
import { tunnelName } from '../../../../src/networks/agent/links.ts';
import { Reconciler } from '../../../../src/networks/agent/reconciler.ts';
import type { Network, NetworkStatus } from '../../../../src/networks/api/types.ts';
import { bridgeName, FIRST_VNI } from '../../../../src/networks/multus/cni-config.ts';
import { ModelNode } from '../../../support/network/model-node.ts';
import { newNetwork } from '../networks.ts';

const nodes = [
  { name: 'a', address: '192.0.2.1' },
  { name: 'b', address: '192.0.2.2' },
];
const blueStatus = { cidr: '10.20.0.0/24', gateway: '10.20.0.1', vni: FIRST_VNI, mtu: 1450, nodes };
const greenStatus = { ...blueStatus, cidr: '10.21.0.0/24', gateway: '10.21.0.1', vni: FIRST_VNI + 1 };
const [blue, green] = [bridgeName('default/blue'), bridgeName('default/green')];
const LOOK_MS = 30_000;

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'reconciler-'));
});

afterEach(() => rm(root, { recursive: true }));

function stage(statuses: Readonly<Record<string, NetworkStatus>>) {
  const node = new ModelNode();
  const networks = new Map<string, Network>();
  const tell = (name: string, status: NetworkStatus) => networks.set(name, newNetwork({ name, status }));
  for (const [name, status] of Object.entries(statuses)) tell(name, status);
  const state = { nowMs: 0, removed: 0 };
  // Of a kernel without IPv6 forwarding of one device.
  const settings = new Map([
    ['ipv4/ip_forward', '0'],
    ['ipv6/conf/all/forwarding', '0'],
  ]);
  const reconciler = new Reconciler({
    host: new Host({
      root,
      run: node.runProgram,
      settings: {
        get: async (name) => settings.get(name),
        set: async (name, value) => void settings.set(name, value),
      },
    }),
    underlay: { device: undefined, address: '192.0.2.1' },
    port: 4789,
    syncIntervalMs: LOOK_MS,
    unusedBridgeTtlMs: 2 * LOOK_MS,
    nowMs: () => state.nowMs,
    networks: () => [...networks.values()].map((network) => agentNetwork(network, 'a')),
    onRemoved: () => {
      state.removed += 1;
    },
    log: pino({ level: 'silent' }),
  });
  const marks = async () => (await readdir(join(root, JOINED)).catch(() => [])).toSorted();
  const later = () => {
    state.nowMs += LOOK_MS;
    return reconciler.sync();
  };
  return { node, networks, tell, state, settings, marks, later, round: () => reconciler.sync() };
}

test('Networks with pods on the node are joined, marked and reported, and a second round changes nothing', async () => {
  const elsewhere = { ...greenStatus, nodes: nodes.slice(1) };
  const { node, settings, marks, later, round } = stage({ blue: blueStatus, green: elsewhere });
  expect(await round()).toEqual({
    report: {
      version: 2,
      ranges: ['192.0.2.0/24'],
      underlay: { address: '192.0.2.1', mtu: 1500 },
      problems: {},
    },
    joined: 1,
    problem: undefined,
  });
  expect([...node.links().bridges.keys()]).toEqual([blue]);
  expect(await marks()).toEqual([blue]);
  expect([...settings.values()]).toEqual(['1', '0']);
  node.commands.splice(0);
  await later();
  expect(node.commands).toEqual([]);
});

test('IPv6 is forwarded for the bridges and the devices of the node alone, if the kernel can', async () => {
  const secondary = { cidr: 'fd00:20::/64', gateway: 'fd00:20::1' };
  const old = stage({ blue: { ...blueStatus, secondary } });
  await old.round();
  expect(old.settings.get('ipv6/conf/all/forwarding')).toBe('1');
  const { settings, later, round } = stage({ blue: { ...blueStatus, secondary } });
  for (const device of ['all', blue, 'eth0']) settings.set(`ipv6/conf/${device}/force_forwarding`, '0');
  await round();
  const on = () => [...settings].filter(([name, value]) => name.startsWith('ipv6') && value === '1');
  expect(on()).toEqual([[`ipv6/conf/${blue}/force_forwarding`, '1']]);
  settings.set(`ipv6/conf/${blue}/force_forwarding`, '0');
  await later();
  expect(on()).toHaveLength(1);
});

test('IPv6 is enabled on a bridge that gets an address of it, and on no other', async () => {
  const secondary = { cidr: 'fd00:20::/64', gateway: 'fd00:20::1' };
  const { node, settings, round } = stage({ blue: { ...blueStatus, secondary }, green: greenStatus });
  const disabled = (device: string) => `ipv6/conf/${device}/disable_ipv6`;
  for (const device of ['all', 'default', blue, green]) settings.set(disabled(device), '1');
  const line = `address add fd00:20::1/64 dev ${blue} nodad`;
  node.broken.set(line, 'Error: ipv6: IPv6 is disabled on this device.');
  node.onCall = () => {
    if (settings.get(disabled(blue)) === '0') node.broken.delete(line);
  };
  expect((await round()).report.problems).toEqual({});
  expect(node.links().bridges.get(blue)?.addresses).toContain('fd00:20::1/64');
  expect(['all', 'default', green].map((device) => settings.get(disabled(device)))).toEqual(['1', '1', '1']);
});

test('a Network that overlaps a route of the node is not made nor marked, and does not delay others', async () => {
  const { node, marks, round } = stage({ blue: blueStatus, green: greenStatus });
  node.routes = [{ dst: '10.20.0.128/25', dev: 'eth1' }];
  const { report, joined } = await round();
  expect(report.problems).toEqual({
    'default/blue':
      "10.20.0.0/24 overlaps 10.20.0.128/25 of this node's route via eth1, so this Network is left out",
  });
  expect(joined).toBe(1);
  expect(await marks()).toEqual([green]);
  expect(node.commands.join()).not.toContain(blue);
});

test('a joined Network stays when a route appears in its range; in a new range it is not marked', async () => {
  const { node, tell, marks, round, later } = stage({ blue: blueStatus });
  await round();
  node.routes = [
    { dst: '10.20.0.128/25', dev: 'eth1' },
    { dst: '10.99.0.0/24', dev: 'eth1' },
  ];
  expect((await later()).problem).toBe(
    "default/blue: 10.20.0.0/24 overlaps 10.20.0.128/25 of this node's route via eth1",
  );
  expect(await marks()).toEqual([blue]);
  tell('blue', { ...blueStatus, cidr: '10.99.0.0/16', gateway: '10.99.0.1' });
  await round();
  expect(await marks()).toEqual([]);
});

test('a failing Network does not delay others, is tried twice, and again in the next round', async () => {
  const { node, marks, round } = stage({ blue: blueStatus, green: greenStatus });
  const line = `link set dev ${tunnelName(blue)} up`;
  node.broken.set(line, 'RTNETLINK answers: No buffer space available');
  const { report, joined } = await round();
  expect(report.problems).toEqual({
    'default/blue': `ip ${line}: RTNETLINK answers: No buffer space available`,
  });
  expect(joined).toBe(1);
  expect(await marks()).toEqual([green]);
  expect(node.commands.filter((command) => command === `ip ${line}`)).toHaveLength(2);
  node.broken.clear();
  expect((await round()).problem).toBeUndefined();
  expect(await marks()).toEqual([blue, green].toSorted());
});

test('a bridge that no pod needs goes after two rounds apart, and never while a pod is plugged in', async () => {
  const { node, tell, state, marks, round, later } = stage({ blue: blueStatus, green: greenStatus });
  await round();
  node.pods.set(blue, 1);
  for (const [name, status] of [
    ['blue', blueStatus],
    ['green', greenStatus],
  ] as const) {
    tell(name, { ...status, nodes: [] });
  }
  await round();
  await later();
  expect([...node.links().bridges.keys()]).toEqual([blue, green]);
  await later();
  expect([...node.links().bridges.keys()]).toEqual([blue]);
  expect(await marks()).toEqual([blue]);
  expect(state.removed).toBe(1);
  node.pods.delete(blue);
  await later();
  await later();
  await later();
  expect(node.links().bridges.size + node.links().tunnels.size).toBe(0);
  expect([node.rules, state.removed]).toEqual([undefined, 2]);
});

test('a bridge that stayed after its last pod goes with its Network, at once', async () => {
  const { node, networks, tell, marks, state, round } = stage({ blue: blueStatus, green: greenStatus });
  await round();
  tell('blue', { ...blueStatus, nodes: nodes.slice(1) });
  await round();
  expect([...node.links().bridges.keys()].toSorted()).toEqual([blue, green].toSorted());
  networks.delete('blue');
  await round();
  expect([...node.links().bridges.keys()]).toEqual([green]);
  expect(await marks()).toEqual([green]);
  expect(state.removed).toBe(1);
});

test('a pod that comes while its bridge goes keeps the bridge', async () => {
  const { node, networks, marks, round, later } = stage({ blue: blueStatus });
  await round();
  networks.clear();
  let looks = 0;
  node.onCall = (line) => {
    // Seen by the second look of the round alone.
    if (line.includes('address show') && ++looks === 2) node.pods.set(blue, 1);
  };
  await later();
  expect([...node.links().bridges.keys()]).toEqual([blue]);
  expect(await marks()).toEqual([]);
});

test('all bridges stay with an incomplete status and, where a pod is plugged in, without Networks', async () => {
  const { node, networks, tell, marks, round, later } = stage({ blue: blueStatus });
  await round();
  node.commands.splice(0);
  const { nodes: _, ...before } = blueStatus;
  tell('blue', before);
  for (let look = 0; look < 4; look++) await later();
  node.pods.set(blue, 1);
  networks.clear();
  for (let look = 0; look < 4; look++) await later();
  expect(node.commands).toEqual([]);
  expect(await marks()).toEqual([blue]);
});

test('no status makes an agent remove or change a bridge of another Network', async () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('10.30.0.0/24', '10.30.0.1', '10.20.0.0/16'));
  const number = fc.oneof(fc.integer(), fc.constantFrom(FIRST_VNI + 5, FIRST_VNI - 1));
  const address = fc.constantFrom('192.0.2.1', '192.0.2.2', 'fd00::1', '');
  const statuses = fc.record(
    {
      cidr: text,
      gateway: text,
      vni: number,
      mtu: fc.integer({ min: 68, max: 9000 }),
      nodes: fc.array(fc.record({ name: fc.constantFrom('a', 'b'), address })),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(statuses, { maxLength: 4 }), async (all) => {
      const { node, tell, round, later } = stage({ blue: blueStatus });
      await round();
      node.commands.splice(0);
      for (const [i, status] of all.entries()) tell(`other-${i}`, status);
      await round();
      await later();
      expect(node.commands.filter((command) => command.includes(blue.slice(3)))).toEqual([]);
    }),
    { numRuns: 50 },
  );
});
