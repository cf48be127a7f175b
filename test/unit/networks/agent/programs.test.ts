import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { COUNTERS, firewallWatch, passSwitched } from '../../../../src/networks/agent/firewall.ts';
import { digestIn, rulesOf } from '../../../../src/networks/agent/nftables.ts';
import { runBatch } from '../../../../src/networks/agent/programs.ts';
import { reportWriter } from '../../../../src/networks/agent/report.ts';
import { conflictFinder, parseRoutes, reportedRanges } from '../../../../src/networks/agent/routes.ts';
import { MAX_REPORTED_RANGES, type NodeReport } from '../../../../src/networks/nodes/node-report.ts';
import { formatRange, holds, overlaps, type Range } from '../../../../src/networks/ranges/cidr.ts';
import { anyRange, firstHost, range } from '../ranges.ts';

const parts = [
  { bridge: 'a', lines: ['link add a', 'link set a up'] },
  { bridge: 'b', lines: ['link add b'] },
  { bridge: 'c', lines: ['link add c'] },
];
// What `ip -force -batch -` of iproute2 6.1 prints.
const failed = (stderr: string) => async () => {
  throw new Error(`ip -force -batch - returned 1: ${stderr}`);
};

test('runBatch runs all lines in one call', async () => {
  const calls: unknown[] = [];
  const programs = async (...call: unknown[]) => {
    calls.push(call);
    return '';
  };
  expect(await runBatch(programs, 'ip', parts)).toEqual(new Map());
  expect(await runBatch(programs, 'bridge', [{ bridge: 'a', lines: [] }])).toEqual(new Map());
  const input = 'link add a\nlink set a up\nlink add b\nlink add c\n';
  expect(calls).toEqual([['ip', ['-force', '-batch', '-'], input]]);
});

test('runBatch reports the first failure of each bridge', async () => {
  const stderr =
    'RTNETLINK answers: File exists\nCommand failed -:1\nCannot find device "a"\nCommand failed -:2\nError: Unknown device type.\nCommand failed -:4';
  expect(await runBatch(failed(stderr), 'ip', parts)).toEqual(
    new Map([
      ['a', 'ip link add a: RTNETLINK answers: File exists'],
      ['c', 'ip link add c: Error: Unknown device type.'],
    ]),
  );
});

/** As `nft list counters` prints them. */
function shown(counts: Readonly<Record<string, number>>): string {
  const counters = COUNTERS.map(
    (name) => `\tcounter ${name} {\n\t\tpackets ${counts[name] ?? 0} bytes 84\n\t}\n`,
  );
  return `table inet envoy-initializer {\n${counters.join('')}}\n`;
}

test('a firewall is reported when ten packets have come and none has passed, until one does', () => {
  const problemIn = firewallWatch(4790);
  const problems = [
    { ip_before: 100, ip_after: 100, tunnel_before: 9 },
    { ip_before: 105, ip_after: 101, tunnel_before: 10 },
    // The table was replaced.
    { ip_before: 4, tunnel_before: 2, tunnel_after: 1 },
    { ip_before: 9, tunnel_before: 99, tunnel_after: 1 },
    { ip_before: 10, tunnel_before: 99, tunnel_after: 1 },
    {},
    { ip_before: 3, ip_after: 1, tunnel_before: 5, tunnel_after: 5 },
  ].map((counts) => problemIn(shown(counts)));
  const tunnel = 'a firewall on this node drops packets from other nodes (open UDP port 4790)';
  const pods =
    'a firewall on this node drops IPv4 packets between pods (accept forwarding from nw-* to nw-*)';
  const both = `${pods}, and ${tunnel.replace('a firewall on this node drops ', '')}`;
  expect(problems).toEqual([undefined, tunnel, undefined, tunnel, both, both, undefined]);
  expect(problemIn('')).toBeUndefined();
});

test('the rule for iptables is inserted once, and removed where it is not wanted', async () => {
  const chains: Record<string, string> = {
    ip: 'iifname "nw-*" oifname "nw-*" xt match "comment" counter packets 0 bytes 0 accept # handle 7',
    ip6: 'iifname "nw-*" oifname "nw-*" ip6 saddr fd00::/8 counter packets 0 bytes 0 accept # handle 3',
  };
  const calls: string[] = [];
  const run = async (_: string, args: readonly string[]) => {
    if (!args.includes('list')) calls.push(args.join(' '));
    return chains[args[3] ?? ''] ?? '';
  };
  await passSwitched(run, async () => true);
  await passSwitched(run, async () => false);
  expect(calls).toEqual([
    'insert rule ip6 filter FORWARD iifname nw-* oifname nw-* accept comment "envoy-initializer"',
    'delete rule ip filter FORWARD handle 7',
  ]);
  const fails = async () => Promise.reject(new Error('Error: No such file or directory'));
  await expect(passSwitched(fails, async () => true)).resolves.toBeUndefined();
});

const facts = {
  bridges: [
    { name: 'nw-bbbbbbbbbbbb', ranges: [range('10.21.0.0/24')] },
    {
      name: 'nw-aaaaaaaaaaaa',
      ranges: [range('10.20.0.0/24'), range('fd00:20::/64')],
    },
  ],
  vnis: [8388609, 8388608],
  peers: ['192.0.2.3', '192.0.2.2', '192.0.2.3'],
  port: 4789,
};

test('the digest of the rules of a node depends on the facts and not on their order', () => {
  const { text, digest } = rulesOf(facts);
  expect(digestIn(text)).toBe(digest);
  const turned = { ...facts, bridges: facts.bridges.toReversed(), peers: facts.peers.toReversed() };
  expect(rulesOf(turned)).toEqual({ text, digest });
  for (const other of [
    { port: 8472 },
    { peers: [] },
    { vnis: [8388609] },
    { bridges: facts.bridges.slice(1) },
  ]) {
    expect(rulesOf({ ...facts, ...other }).digest).not.toBe(digest);
  }
  expect(digestIn('table inet envoy-initializer {\n\tchain forward {\n\t}\n}\n')).toBeUndefined();
});

test('the rules of a node have no table without bridges', () => {
  expect(rulesOf({ ...facts, bridges: [] })).toEqual({
    text: 'table inet envoy-initializer\ndelete table inet envoy-initializer\n',
    digest: undefined,
  });
});

// Output of `ip -json route show` of iproute2 6.1.
const printed = JSON.stringify([
  { dst: 'default', gateway: '192.0.2.254', dev: 'eth0', flags: [] },
  { dst: '0.0.0.0/1', gateway: '10.8.0.1', dev: 'tun0', flags: [] },
  { dst: '128.0.0.0/1', gateway: '10.8.0.1', dev: 'tun0', flags: [] },
  { dst: '10.8.0.0/24', dev: 'tun0', protocol: 'kernel', scope: 'link', prefsrc: '10.8.0.2', flags: [] },
  { dst: '10.244.0.7', dev: 'cali0', scope: 'link', flags: [] },
  { type: 'blackhole', dst: '10.244.1.0/26', protocol: '80', flags: [] },
  { dst: '10.20.0.0/24', dev: 'nw-0123456789ab', protocol: 'kernel', scope: 'link', flags: [] },
  {},
]);
const routesOf = (ranges: readonly Range[]) => ranges.map((one) => ({ range: one, of: 'eth0' }));

test('parseRoutes ignores default routes and those of the operator', () => {
  expect(parseRoutes(printed).map(({ range: found, of }) => `${formatRange(found)} ${of}`)).toEqual([
    "10.8.0.0/24 this node's route via tun0",
    "10.244.0.7/32 this node's route via cali0",
    '10.244.1.0/26 a route on this node',
  ]);
});

test('conflictFinder finds exactly the Networks that overlap a range of the node', () => {
  fc.assert(
    fc.property(fc.array(anyRange, { maxLength: 2 }), fc.array(anyRange, { maxLength: 5 }), (own, taken) => {
      const ranges = own.map((one) => ({ range: one, gateway: firstHost(one) }));
      const conflict = conflictFinder(routesOf(taken))({ ranges });
      expect(conflict !== undefined).toBe(taken.some((one) => own.some((other) => overlaps(one, other))));
    }),
  );
});

test('reportedRanges leaves out single addresses, what every node has, and what is inside of others', () => {
  const device = (name: string, ...addresses: readonly [address: string, prefixLength: number][]) => ({
    ...{ name, mtu: 1500 },
    addresses: addresses.map(([address, prefixLength]) => ({ address, prefixLength })),
  });
  const devices = [
    device('lo', ['127.0.0.1', 8], ['::1', 128]),
    device('eth0', ['192.0.2.1', 24], ['2001:db8::1', 64]),
    device('kube-ipvs0', ['10.96.0.1', 32]),
    device('wg0', ['10.8.0.2', 25]),
  ];
  const routes = [...parseRoutes(printed), ...routesOf([range('fe80::/64'), range('fd00::/8')])];
  expect(reportedRanges(routes, devices)).toEqual([
    '10.244.1.0/26',
    '10.8.0.0/24',
    '192.0.2.0/24',
    '2001:db8::/64',
    'fd00::/8',
  ]);
});

test('reportedRanges never overlap, hold all ranges, and are the same in any order', () => {
  const some = fc.array(anyRange, { maxLength: 8 }).map((all) => {
    return all.filter(({ address, prefixLength }) => prefixLength < (address.kind() === 'ipv4' ? 32 : 128));
  });
  fc.assert(
    fc.property(some, (ranges) => {
      const texts = reportedRanges(routesOf(ranges), []);
      const told = texts.map(range);
      expect(told.flatMap((a) => told.filter((b) => a !== b && overlaps(a, b)))).toEqual([]);
      for (const one of ranges) expect(told.some((wide) => holds(wide, one))).toBe(true);
      expect(reportedRanges(routesOf(ranges.toReversed()), [])).toEqual(texts);
    }),
  );
});

test('reportedRanges keeps the widest of too many', () => {
  const many = Array.from({ length: 300 }, (_, i) => range(`10.${i >> 8}.${i & 255}.0/24`));
  const told = reportedRanges(routesOf([...many, range('172.16.0.0/12')]), []);
  expect(told).toHaveLength(MAX_REPORTED_RANGES);
  expect(told).toContain('172.16.0.0/12');
});

const signal = new AbortController().signal;
const report: NodeReport = { version: 2, ranges: ['192.0.2.0/24'], problems: {} };
const owner = { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'u' };

function stage() {
  const applied: unknown[] = [];
  const state = { nowMs: 0, failure: undefined as Error | undefined };
  const writer = reportWriter({
    client: {
      apply: async (resource, _, object) => {
        if (state.failure) throw state.failure;
        applied.push(object);
        return resource.decode(object);
      },
    },
    namespace: 'agents',
    node: 'a',
    owner: async () => owner,
    nowMs: () => state.nowMs,
  });
  return { applied, state, write: (one: NodeReport) => writer(one, signal) };
}

test('the report of a node is written when it changes, and owned by its Node', async () => {
  const { applied, write } = stage();
  await write(report);
  await write({ ...report });
  const labels = { app: 'envoy-initializer', 'samplecrd.k8s.io/node-report': '' };
  const metadata = { name: 'a', namespace: 'agents', labels, ownerReferences: [owner] };
  const data = { report: JSON.stringify(report) };
  expect(applied).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }]);
  await write({ ...report, problems: { 'default/a': 'no' } });
  expect(applied).toHaveLength(2);
});

test('an unchanged report of a node is applied again after ten minutes, a failed one in the next round', async () => {
  const { applied, state, write } = stage();
  await write(report);
  state.nowMs = 599_999;
  await write(report);
  expect(applied).toHaveLength(1);
  state.nowMs = 600_000;
  state.failure = new Error('the API server is away');
  await expect(write(report)).rejects.toThrow('away');
  state.failure = undefined;
  await write(report);
  expect(applied).toHaveLength(2);
});
