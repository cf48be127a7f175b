import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyOf } from '../../../../src/kube/api/object.ts';
import { MutationCache } from '../../../../src/kube/cache/mutation-cache.ts';
import { NETWORK_FINALIZER } from '../../../../src/networks/api/names.ts';
import type { Network, NetworkStatus } from '../../../../src/networks/api/types.ts';
import { NetworkWriter } from '../../../../src/networks/controller/network-writer.ts';
import { ProviderRegistry } from '../../../../src/networks/controller/provider-registry.ts';
import { type RangePolicy, SpecAcceptance } from '../../../../src/networks/controller/spec-acceptance.ts';
import { isRecount } from '../../../../src/networks/controller/status.ts';
import { multusProvider } from '../../../../src/networks/multus/multus.ts';
import type { Provider } from '../../../../src/networks/providers.ts';
import { formatRange, overlaps, type Range } from '../../../../src/networks/ranges/cidr.ts';
import { ClusterRanges } from '../../../../src/networks/ranges/cluster-ranges.ts';
import { FakeAttachments } from '../../../support/network/fake-attachments.ts';
import { NetworkModel } from '../../../support/network/network-model.ts';
import { type NetworkOptions, newNetwork } from '../networks.ts';
import { anyRange, firstHost, range } from '../ranges.ts';

const policy: RangePolicy = {
  allowed: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'].map(range),
  largest: { ipv4: 16, ipv6: 48 },
};
const held: NetworkOptions = { finalizers: [NETWORK_FINALIZER] };

function provider(name: string, isRemote: boolean): Provider {
  return {
    ...{ name, isRemote, attachesPods: !isRemote, validate: () => undefined },
    actual: async () => undefined,
    ensure: async () => ({ kind: 'ready', change: 'none', capacity: 1 }),
    usage: async () => undefined,
    remove: async () => ({ kind: 'gone' }),
    release: async () => {},
  };
}

function stage() {
  const cluster = new ClusterRanges();
  const judgedAgain: string[] = [];
  const providers = new ProviderRegistry('multus', [provider('multus', false), provider('neutron', true)]);
  const acceptance = new SpecAcceptance(providers, (key) => judgedAgain.push(key), {
    ...{ policy, cluster },
  });
  const network = (cidr: string, options: NetworkOptions = {}) =>
    newNetwork({ cidr, gateway: firstHost(range(cidr)), ...options });
  return { cluster, acceptance, network, judgedAgain };
}

test.each([
  ['100.64.0.0/24', 'is not inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7 (--network-ranges)'],
  ['2001:db8::/64', 'is not inside'],
  ['128.0.0.0/3', 'is not inside'],
  ['10.0.0.0/7', 'is not inside'],
  ['10.0.0.0/8', 'is larger than --network-largest allows: use a /16 or smaller'],
  ['172.16.0.0/15', 'use a /16 or smaller'],
  ['fd00::/47', 'use a /48 or smaller'],
])(
  'a range that no Network may have is refused for %s, and the message says what to write',
  (cidr, message) => {
    const { acceptance, network } = stage();
    const refusal = acceptance.specErrorOf(network(cidr));
    expect(refusal).toEqual({ reason: 'RangeNotAllowed', message: expect.stringContaining(message) });
  },
);

test('a range that no Network may have stays with a Network that holds it, with a warning', () => {
  const { acceptance, network } = stage();
  const live = network('100.64.0.0/24', { ...held, status: { cidr: '100.64.0.0/24' } });
  expect(acceptance.specErrorOf(live)).toBeUndefined();
  expect(acceptance.warningFor(live)).toContain('(--network-ranges)');
});

test.each([
  ['default', 'Network default/holder'],
  ['secret-project', 'a Network in another namespace'],
])('a range of another Network is refused; for namespace %s the message says %s', (namespace, name) => {
  const { acceptance, network } = stage();
  const holder = network('10.1.0.0/16', { name: 'holder' });
  expect(acceptance.specErrorOf({ ...holder, metadata: { ...holder.metadata, namespace } })).toBeUndefined();
  const loser = network('10.1.7.0/24', { name: 'loser' });
  const message = `10.1.7.0/24 overlaps 10.1.0.0/16 of ${name}: use a range that does not overlap it`;
  expect(acceptance.specErrorOf(loser)).toEqual({ reason: 'Overlap', message });
});

test('a range that a Network asked for before is free, also if its real network cannot be made', async () => {
  const model = new NetworkModel();
  model.attachments.store({ metadata: { namespace: 'default', name: 'a' }, spec: {} });
  model.create({ cidr: '10.1.0.0/16', gateway: '10.1.0.1' });
  await model.reconcile();
  await model.reconcile();
  model.edit({ cidr: '10.2.0.0/16', gateway: '10.2.0.1' });
  await model.reconcile();
  const reasonOf = (cidr: string) =>
    model.acceptance.specErrorOf(newNetwork({ name: cidr, cidr, gateway: firstHost(range(cidr)) }))?.reason;
  expect(['10.1.0.0/16', '10.2.0.0/16'].map(reasonOf)).toEqual([undefined, 'Overlap']);
});

test('a range that the cluster starts to use stays with a Network that holds it, with a warning', () => {
  const { cluster, acceptance, network, judgedAgain } = stage();
  const live = network('10.201.0.0/25');
  expect(acceptance.specErrorOf(live)).toBeUndefined();
  cluster.set('node n1', ['10.201.0.3']);
  expect(judgedAgain).toEqual([keyOf(live)]);
  expect(acceptance.specErrorOf(live)).toBeUndefined();
  expect(acceptance.warningFor(live)).toBe(
    '10.201.0.0/25 overlaps 10.201.0.3 of node n1: pods on the Network cannot reach addresses that are in both ranges',
  );
  cluster.set('node n1', []);
  expect([judgedAgain.length, acceptance.warningFor(live)]).toEqual([2, undefined]);
});

test('a range that the cluster uses causes only a warning for a network of a remote provider', () => {
  const { cluster, acceptance, network } = stage();
  cluster.set('node n1', ['203.0.113.3']);
  const remote = network('203.0.113.0/24', { provider: 'neutron' });
  expect(acceptance.specErrorOf(remote)).toBeUndefined();
  expect(acceptance.warningFor(remote)).toContain('203.0.113.3 of node n1');
});

test('SpecAcceptance never reserves a used range, and reserves each free one, through random changes', () => {
  const cluster = fc.record({
    of: fc.constantFrom('node n1', 'node n2'),
    ranges: fc.array(anyRange, { maxLength: 3 }),
  });
  const asked = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    range: anyRange,
    isForged: fc.boolean(),
  });
  const steps = fc.array(fc.oneof(cluster, asked), { maxLength: 25 });
  fc.assert(
    fc.property(steps, (all) => {
      const { cluster: ranges, acceptance, network } = stage();
      const used = new Map<string, readonly Range[]>();
      const given = new Map<string, Range>();
      for (const step of all) {
        if ('of' in step) {
          used.set(step.of, step.ranges);
          ranges.set(step.of, step.ranges.map(formatRange));
          continue;
        }
        const { name, range: wanted, isForged } = step;
        // Ranges without an address for a pod are refused earlier.
        if (wanted.prefixLength > (wanted.address.kind() === 'ipv4' ? 30 : 126)) continue;
        const status = given.has(name) ? { cidr: formatRange(given.get(name) ?? wanted) } : undefined;
        const asking = network(formatRange(wanted), {
          name,
          ...(isForged || status ? held : {}),
          ...(status && { status }),
        });
        const refusal = acceptance.specErrorOf(asking);
        const isKept = status?.cidr === formatRange(wanted);
        const isTaken = [...used.values()].flat().some((one) => overlaps(one, wanted));
        const others = [...given].filter(([other]) => other !== name);
        const isHeld = others.some(([, other]) => overlaps(other, wanted));
        if (!isKept && isTaken) expect(refusal?.reason).toBe('RangeTaken');
        else if (isHeld) expect(refusal?.reason).toBe('Overlap');
        else if (isKept) expect(refusal).toBeUndefined();
        if (refusal) continue;
        acceptance.settle(asking, asking.spec);
        given.set(name, wanted);
      }
      const live = [...given.values()];
      for (const one of live) expect(live.filter((other) => overlaps(one, other))).toEqual([one]);
    }),
    { numRuns: 1_000 },
  );
});

const multus = multusProvider(new FakeAttachments());
const { signal } = new AbortController();
const finalizers = [NETWORK_FINALIZER];

// biome-ignore format: a line for each case
test.each([
  ['the provider that it names', newNetwork({ provider: 'multus' }), 'neutron', 'multus'],
  ['the default if it names none', newNetwork(), 'neutron', 'neutron'],
  ['the provider that created its network', newNetwork({ finalizers, status: { provider: 'multus' } }), 'neutron', 'multus'],
  ['the default if it has no real network', newNetwork({ status: { provider: 'neutron' } }), 'multus', 'multus'],
])('a Network uses %s', (_, network, defaultName, expected) => {
  expect(new ProviderRegistry(defaultName, [multus]).of(network).name).toBe(expected);
});

test('an unconfigured provider refuses a Network, creates nothing, and blocks its deletion', async () => {
  const provider = new ProviderRegistry('neutron', [multus]).of(newNetwork());
  const message = 'provider neutron is not configured in this operator: use one of multus';
  expect(provider.validate?.(newNetwork())).toEqual({ reason: 'ProviderUnavailable', message });
  expect(await provider.remove(newNetwork(), { retain: false }, signal)).toMatchObject({ kind: 'blocked' });
});

const condition = (type: string, status: 'True' | 'False', reason: string, message = '') => ({
  ...{ type, status, reason, message },
  lastTransitionTime: '2026-11-21T00:00:00Z',
});
const status: NetworkStatus = {
  cidr: '10.0.0.0/24',
  attachedPods: 1,
  capacity: { total: 253, allocated: 1 },
  conditions: [
    condition('Ready', 'True', 'Ready'),
    condition('Progressing', 'False', 'UpToDate'),
    condition('InUse', 'True', 'PodsAttached', 'attached: red/p'),
  ],
};

test.each<[string, boolean, NetworkStatus]>([
  ['nothing new', false, status],
  ['another count', true, { ...status, attachedPods: 2, capacity: { total: 253, allocated: 2 } }],
  [
    'no users any more',
    true,
    {
      ...status,
      attachedPods: 0,
      conditions: status.conditions?.map((c) =>
        c.type === 'InUse' ? condition('InUse', 'False', 'NoPods') : c,
      ),
    } as NetworkStatus,
  ],
  ['another range and another count', false, { ...status, cidr: '10.0.1.0/24', attachedPods: 2 }],
  [
    'that it is not Ready any more',
    false,
    { ...status, attachedPods: 2, conditions: [condition('Ready', 'False', 'Deleting')] },
  ],
])('a status with %s: isRecount returns %s', (_, only, next) => {
  expect(isRecount(status, next)).toBe(only);
});

test('a status that changes only counts is written every 10 s, and another one at once', async () => {
  let now = 1_000;
  const network = newNetwork({ status });
  const written: unknown[] = [];
  const told: string[] = [];
  const unused = () => Promise.reject(new Error('not a write of a status'));
  const writer = new NetworkWriter({
    client: {
      apply: async (resource, _ref, body) => {
        written.push(Object(body).status);
        return resource.decode(network);
      },
      ...{ mergePatch: unused, jsonPatch: unused },
    },
    copies: new MutationCache<Network>({ get: () => undefined }),
    events: { event: (_, { reason }) => told.push(reason) },
    ...{ clock: { now: () => now }, now: () => new Date(0) },
  });
  const restored = { type: 'Warning', reason: 'Restored', action: 'Restore', note: '' } as const;
  const report = (next: NetworkStatus) => writer.report(network, next, [restored], signal);
  const counted = { ...status, attachedPods: 2 };
  expect(await report(counted)).toBeUndefined();
  now += 4_000;
  expect(await report({ ...status, attachedPods: 3 })).toBe(6_000);
  expect(told).toEqual(['Restored', 'Restored']);
  expect(await report({ ...status, cidr: '10.0.1.0/24' })).toBeUndefined();
  now += 6_000;
  expect(await report(counted)).toBeUndefined();
  expect(written).toEqual([counted, { ...status, cidr: '10.0.1.0/24' }, counted]);
});
