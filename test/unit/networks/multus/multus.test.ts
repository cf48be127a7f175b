import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyOf } from '../../../../src/kube/api/object.ts';
import { Store } from '../../../../src/kube/cache/store.ts';
import type { NetworkAttachmentDefinition } from '../../../../src/networks/api/resources.ts';
import type { Subnet } from '../../../../src/networks/api/subnet.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import { attachmentWith, cachedAttachment } from '../../../../src/networks/multus/attachment.ts';
import { bridgeName, cniConfig, FIRST_VNI, VNI_COUNT } from '../../../../src/networks/multus/cni-config.ts';
import { type MultusProvider, multusProvider } from '../../../../src/networks/multus/multus.ts';
import { MULTUS_INDEXERS, Vnis } from '../../../../src/networks/multus/vnis.ts';
import { FakeAttachments, refusal } from '../../../support/network/fake-attachments.ts';
import { newNetwork } from '../networks.ts';

const network = newNetwork();
const shape: Subnet = { cidr: '192.168.0.0/16', gateway: '192.168.0.1', mtu: 1450 };
const other: Subnet = { ...shape, mtu: 1400 };
const key = 'default/example-network';
const { signal } = new AbortController();

function newProvider() {
  const fake = new FakeAttachments();
  const provider = multusProvider(fake);
  return { fake, provider, ensure: (wanted = shape) => provider.ensure(network, wanted, signal) };
}

/** A definition of the same name without an owner. */
const foreign: NetworkAttachmentDefinition = { metadata: { namespace: 'default', name: 'example-network' } };

test('the cached part of a definition is small for any labels, annotations and text', () => {
  const wanted = attachmentWith(network, cniConfig(key, 1450));
  const { labels, annotations } = wanted.metadata;
  const long = { 'example.org/a': 'x'.repeat(250_000) };
  const metadata = {
    ...wanted.metadata,
    labels: { ...labels, ...long },
    annotations: { ...annotations, ...long },
  };
  const cached = cachedAttachment({ metadata, spec: { config: 'x'.repeat(1_000_000) } });
  expect(cached.metadata).toEqual(wanted.metadata);
  expect(cached.spec).toEqual({ config: '' });
});

test('a Network without Multus on any node has its definition, and is not Ready', async () => {
  const fake = new FakeAttachments();
  let obstacle: string | undefined = 'Multus attaches no pods on all nodes';
  const nodes = { ...fake.nodes, withoutMultus: () => obstacle };
  const provider = multusProvider({ ...fake, nodes });
  const message = expect.stringContaining('on all nodes: install Multus as');
  expect(await provider.ensure(network, shape, signal)).toMatchObject({
    ...{ kind: 'notReady', reason: 'ProviderUnavailable', keepsKnown: true, message },
  });
  expect(fake.requests).toEqual(['create']);
  obstacle = undefined;
  expect(await provider.ensure(network, shape, signal)).toMatchObject({ kind: 'ready' });
});

test('ensure of Multus creates a missing definition in one request', async () => {
  const { fake, ensure } = newProvider();
  const vni: unknown = expect.any(Number);
  expect(await ensure()).toEqual({ kind: 'ready', change: 'created', capacity: 65_533, vni });
  expect(fake.requests).toEqual(['create']);
});

test('ensure of Multus sends no requests without a change, also with an outdated cache', async () => {
  const { fake, ensure } = newProvider();
  await ensure();
  fake.sync();
  expect(await ensure(other)).toMatchObject({ change: 'restored' });
  fake.requests.length = 0;
  expect(await ensure(other)).toMatchObject({ change: 'none' });
  expect(fake.requests).toEqual([]);
});

test('ensure of Multus reports a conflict with a foreign definition that the cache does not have', async () => {
  const { fake, ensure } = newProvider();
  const before = fake.store(foreign);
  expect(await ensure()).toMatchObject({ kind: 'notReady', reason: 'NameConflict' });
  expect(fake.live.get(key)).toEqual(before);
});

test('ensure of Multus does not patch a foreign replacement', async () => {
  const { fake, ensure } = newProvider();
  await ensure();
  fake.sync();
  fake.live.clear();
  const before = fake.store(foreign);
  expect(await ensure(other)).toMatchObject({ reason: 'NameConflict' });
  expect(fake.live.get(key)).toEqual(before);
});

test('a Network whose bridge has the name of one that is not younger gets no definition', async () => {
  const ensured = async (createdAt: string) => {
    const networks = new Store<Network>({ ...MULTUS_INDEXERS, bridge: () => [bridgeName(key)] });
    for (const each of [newNetwork({ name: 'rival', createdAt }), network]) networks.set(each);
    const fake = new FakeAttachments();
    const { kind } = await multusProvider({ ...fake, networks }).ensure(network, shape, signal);
    return [kind, ...fake.requests];
  };
  const all = await Promise.all(['2025', '2026-01-01T00:00:00Z', '2027'].map(ensured));
  expect(all).toEqual([['notReady'], ['notReady'], ['ready', 'create']]);
  expect(cacheOf([network, asked('a')]).byIndex('bridge', bridgeName(key))).toEqual([network]);
});

test('ensure of Multus waits for other finalizers of a definition that is being deleted', async () => {
  const { fake, ensure } = newProvider();
  const { metadata, ...rest } = attachmentWith(network, cniConfig(keyOf(network), shape.mtu));
  const finalizers = [...metadata.finalizers, 'example.org/theirs'];
  fake.store({ ...rest, metadata: { ...metadata, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' } });
  fake.sync();
  expect(await ensure()).toMatchObject({ kind: 'notReady', reason: 'Terminating' });
  expect(fake.live.get(key)?.metadata.finalizers).toEqual(['example.org/theirs']);
});

test('ensure of Multus reports that it is missing, and when it retries', async () => {
  const { fake, ensure } = newProvider();
  fake.refusal = refusal(404, 'NotFound');
  expect(await ensure()).toMatchObject({ reason: 'ProviderUnavailable', retryAfterMs: 10_000 });
});

test('Multus takes no subnet from definitions, because users may edit them', () => {
  expect(newProvider().provider.actual).toBeUndefined();
});

const remove = (provider: MultusProvider, retain = false) => provider.remove(network, { retain }, signal);

test('remove of Multus deletes the definition, and reports when it is gone', async () => {
  const { fake, provider, ensure } = newProvider();
  await ensure();
  fake.sync();
  expect(await remove(provider)).toEqual({ kind: 'gone' });
  expect(fake.live.size).toBe(0);
});

test('remove of Multus continues an interrupted attempt', async () => {
  const { fake, provider } = newProvider();
  const { metadata, ...rest } = attachmentWith(network, cniConfig(keyOf(network), shape.mtu));
  fake.store({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
  fake.sync();
  expect(await remove(provider)).toEqual({ kind: 'gone' });
  expect(fake.requests).toEqual(['patch']);
});

test('remove of Multus does not touch a foreign definition, also with an outdated cache', async () => {
  const { fake, provider, ensure } = newProvider();
  await ensure();
  fake.sync();
  fake.live.clear();
  const before = fake.store(foreign);
  expect(await remove(provider)).toEqual({ kind: 'gone' });
  expect(fake.live.get(key)).toEqual(before);
});

test('remove of Multus with retain keeps the definition without an owner', async () => {
  const { fake, provider, ensure } = newProvider();
  await ensure();
  fake.sync();
  expect(await remove(provider, true)).toEqual({ kind: 'gone' });
  expect(fake.live.get(key)?.metadata.ownerReferences).toEqual([]);
});

test('usage of Multus counts pods with usageOf', async () => {
  const fake = new FakeAttachments();
  const counting = multusProvider({ ...fake, usageOf: (of) => ({ pods: [`${keyOf(of)}-pod`] }) });
  expect(await counting.usage?.(network, signal)).toEqual({ pods: ['default/example-network-pod'] });
});

test('usage of Multus counts pods on a real network, also where somebody has replaced its definition', async () => {
  const fake = new FakeAttachments();
  fake.store(foreign);
  fake.sync();
  const provider = multusProvider({ ...fake, usageOf: () => ({ pods: ['default/a'] }) });
  expect(await provider.usage?.(network, signal)).toMatchObject({ pods: [] });
  expect(await provider.usage?.(newNetwork({ status: shape }), signal)).toEqual({ pods: ['default/a'] });
});

const subnet = { cidr: '10.0.0.0/16', gateway: '10.0.0.1' };
/** A Network with its VNI in the status. */
const recorded = (name: string, vni: number) => newNetwork({ name, status: { cidr: subnet.cidr, vni } });
const asked = (name: string) => newNetwork({ name });
function cacheOf(networks: Iterable<Network>): Store<Network> {
  const store = new Store<Network>(MULTUS_INDEXERS);
  for (const one of networks) store.set(one);
  return store;
}

const vnisOf = (networks: readonly Network[]) => new Vnis(cacheOf(networks));

test('no two Networks end with the same VNI, with any leader and any delay of its cache', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const step = fc.record({
    name: fc.constantFrom(...names),
    leader: fc.nat(1),
    does: fc.constantFrom('ensure', 'remove', 'sync'),
  });
  const first = fc.dictionary(fc.constantFrom(...names), fc.integer({ min: FIRST_VNI, max: FIRST_VNI + 2 }));
  fc.assert(
    fc.property(first, fc.array(step, { maxLength: 30 }), (before, steps) => {
      const live = new Map(Object.entries(before).map(([name, vni]) => [name, recorded(name, vni)]));
      const caches = [0, 1].map(() => ({ seen: cacheOf(live.values()) }));
      const leaders = caches.map(
        (cache) => new Vnis({ byIndex: (...asked) => cache.seen.byIndex(...asked) }),
      );
      const ensure = (name: string, leader: number) => {
        const found = live.get(name) ?? asked(name);
        const vni = leaders[leader]?.vniFor(found) ?? 0;
        expect(vni >= FIRST_VNI && vni < FIRST_VNI + VNI_COUNT).toBe(true);
        live.set(name, recorded(name, vni));
      };
      for (const { name, leader, does } of steps) {
        if (does === 'ensure') ensure(name, leader);
        if (does === 'sync') for (const cache of caches) cache.seen = cacheOf(live.values());
        if (does === 'remove') {
          live.delete(name);
          for (const each of leaders) each.release(`default/${name}`);
        }
      }
      const round = (leader: number) => {
        for (const name of live.keys()) ensure(name, leader);
        for (const cache of caches) cache.seen = cacheOf(live.values());
      };
      round(0);
      round(0);
      const vniOf = ({ status }: Network) => status?.vni;
      const vnis = Array.from(live.values(), vniOf);
      expect(new Set(vnis).size).toBe(live.size);
      round(1);
      expect(Array.from(live.values(), vniOf)).toEqual(vnis);
    }),
  );
});

test('a Network gets the VNI of its name, or the next one if another Network has it', () => {
  const wanted = vnisOf([]).vniFor(asked('a'));
  expect(vnisOf([]).vniFor(asked('a'))).toBe(wanted);
  expect(vnisOf([recorded('other', wanted)]).vniFor(asked('a'))).toBe(wanted + 1);
});

test('the first by name of two Networks with the same VNI keeps it', () => {
  const both = [recorded('a', FIRST_VNI), recorded('b', FIRST_VNI)];
  const vnis = vnisOf(both);
  expect(both.map((one) => vnis.vniFor(one))[0]).toBe(FIRST_VNI);
  expect(both.map((one) => vnis.vniFor(one))[1]).not.toBe(FIRST_VNI);
});
