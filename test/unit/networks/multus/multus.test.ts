import { describe, expect, test } from '@jest/globals';
import { keyOf } from '../../../../src/kube/api/object.ts';
import type { NetworkAttachmentDefinition } from '../../../../src/networks/api/resources.ts';
import type { Subnet } from '../../../../src/networks/api/subnet.ts';
import { attachmentWith } from '../../../../src/networks/multus/attachment.ts';
import { cniConfig } from '../../../../src/networks/multus/cni-config.ts';
import { MultusProvider } from '../../../../src/networks/multus/multus.ts';
import { FakeAttachments, refusal } from '../../../support/network/fake-attachments.ts';
import { newNetwork } from '../networks.ts';

const network = newNetwork();
const shape: Subnet = { cidr: '192.168.0.0/16', gateway: '192.168.0.1', mtu: 1450 };
const other: Subnet = { ...shape, mtu: 1400 };
const key = 'default/example-network';
const { signal } = new AbortController();

function newProvider() {
  const fake = new FakeAttachments();
  const provider = new MultusProvider(fake);
  return { fake, provider, ensure: (wanted = shape) => provider.ensure(network, wanted, signal) };
}

/** A definition of the same name without an owner. */
const foreign: NetworkAttachmentDefinition = { metadata: { namespace: 'default', name: 'example-network' } };

test('a Network without Multus on any node has its definition, and is not Ready', async () => {
  const fake = new FakeAttachments();
  let obstacle: string | undefined = 'Multus attaches no pods on all nodes';
  const provider = new MultusProvider(Object.assign(fake, { withoutMultus: () => obstacle }));
  const message = expect.stringContaining('on all nodes: install Multus on the nodes');
  expect(await provider.ensure(network, shape, signal)).toMatchObject({
    ...{ kind: 'notReady', reason: 'ProviderUnavailable', keepsKnown: true, message },
  });
  expect(fake.requests).toEqual(['create']);
  obstacle = undefined;
  expect(await provider.ensure(network, shape, signal)).toMatchObject({ kind: 'ready' });
});

describe('ensure', () => {
  test('creates a missing definition in one request', async () => {
    const { fake, ensure } = newProvider();
    const vni: unknown = expect.any(Number);
    expect(await ensure()).toEqual({ kind: 'ready', change: 'created', capacity: 65_533, vni });
    expect(fake.requests).toEqual(['create']);
  });

  test('sends no requests without a change, also with an outdated cache', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    fake.sync();
    expect(await ensure(other)).toMatchObject({ change: 'restored' });
    fake.requests.length = 0;
    expect(await ensure(other)).toMatchObject({ change: 'none' });
    expect(fake.requests).toEqual([]);
  });

  test('reports a conflict with a foreign definition that the cache does not have', async () => {
    const { fake, ensure } = newProvider();
    const before = fake.store(foreign);
    expect(await ensure()).toMatchObject({ kind: 'notReady', reason: 'NameConflict' });
    expect(fake.live.get(key)).toEqual(before);
  });

  test('does not patch a foreign replacement', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    fake.sync();
    fake.live.clear();
    const before = fake.store(foreign);
    expect(await ensure(other)).toMatchObject({ reason: 'NameConflict' });
    expect(fake.live.get(key)).toEqual(before);
  });

  test('waits for other finalizers of a definition that is being deleted', async () => {
    const { fake, ensure } = newProvider();
    const { metadata, ...rest } = attachmentWith(network, cniConfig(keyOf(network), shape.mtu));
    const finalizers = [...metadata.finalizers, 'example.org/theirs'];
    fake.store({ ...rest, metadata: { ...metadata, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    fake.sync();
    expect(await ensure()).toMatchObject({ kind: 'notReady', reason: 'Terminating' });
    expect(fake.live.get(key)?.metadata.finalizers).toEqual(['example.org/theirs']);
  });

  test('reports that Multus is missing, and when it retries', async () => {
    const { fake, ensure } = newProvider();
    fake.refusal = refusal(404, 'NotFound');
    expect(await ensure()).toMatchObject({ reason: 'ProviderUnavailable', retryAfterMs: 10_000 });
  });
});

test('actual ignores definitions, because users may edit them', async () => {
  const { fake, provider, ensure } = newProvider();
  await ensure();
  fake.sync();
  expect(await provider.actual()).toBeUndefined();
});

describe('remove', () => {
  const remove = (provider: MultusProvider, retain = false) => provider.remove(network, { retain }, signal);

  test('deletes the definition, and reports when it is gone', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    fake.sync();
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.live.size).toBe(0);
  });

  test('continues an interrupted attempt', async () => {
    const { fake, provider } = newProvider();
    const { metadata, ...rest } = attachmentWith(network, cniConfig(keyOf(network), shape.mtu));
    fake.store({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    fake.sync();
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.requests).toEqual(['patch']);
  });

  test('does not touch a foreign definition, also with an outdated cache', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    fake.sync();
    fake.live.clear();
    const before = fake.store(foreign);
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.live.get(key)).toEqual(before);
  });

  test('with retain keeps the definition without an owner', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    fake.sync();
    expect(await remove(provider, true)).toEqual({ kind: 'gone' });
    expect(fake.live.get(key)?.metadata.ownerReferences).toEqual([]);
  });
});

test('usage counts pods with usageOf', async () => {
  const fake = new FakeAttachments();
  const counting = new MultusProvider({ ...fake, usageOf: (of) => ({ pods: [`${keyOf(of)}-pod`] }) });
  expect(await counting.usage(network)).toEqual({ pods: ['default/example-network-pod'] });
  expect(await new MultusProvider(fake).usage(network)).toBeUndefined();
});

test('usage counts pods on a network that is real, also where somebody has replaced its definition', async () => {
  const fake = new FakeAttachments();
  fake.store(foreign);
  fake.sync();
  const provider = new MultusProvider({ ...fake, usageOf: () => ({ pods: ['default/a'] }) });
  expect(await provider.usage(network)).toMatchObject({ pods: [] });
  expect(await provider.usage(newNetwork({ status: shape }))).toEqual({ pods: ['default/a'] });
});
