import { describe, expect, test } from '@jest/globals';
import type { NetworkAttachmentDefinition } from '../../../../../src/network/api/resources.ts';
import type { Subnet } from '../../../../../src/network/api/subnet.ts';
import type { MeshNetwork } from '../../../../../src/network/providers/multus/cni-config.ts';
import { MultusProvider } from '../../../../../src/network/providers/multus/multus.ts';
import { attachmentFor } from '../../../../../src/network/providers/multus/multus-attachment.ts';
import { FakeAttachments, refusal } from '../../../../support/fake-attachments.ts';
import { newNetwork } from '../../networks.ts';

const network = newNetwork();
const shape = { cidr: '192.168.0.0/16', gateway: '192.168.0.1' };
const other = { cidr: '10.0.0.0/16', gateway: '10.0.0.1' };
const key = 'default/example-network';
const { signal } = new AbortController();

function newProvider() {
  const fake = new FakeAttachments();
  const provider = new MultusProvider(fake);
  return { fake, provider, ensure: (wanted = shape) => provider.ensure(network, wanted, signal) };
}

/** Of the same name, without an owner. */
const foreign: NetworkAttachmentDefinition = { metadata: { namespace: 'default', name: 'example-network' } };

describe('ensuring', () => {
  test('creates what is not there, in one request', async () => {
    const { fake, ensure } = newProvider();
    expect(await ensure()).toEqual({ kind: 'ready', change: 'created', capacity: 65_533 });
    expect(fake.requests).toEqual(['create']);
  });

  test('finds what is there before the cache has synced, and creates nothing', async () => {
    const { fake, ensure } = newProvider();
    fake.store(attachmentFor(network, shape));
    fake.hasSynced = false;
    expect(await ensure()).toMatchObject({ kind: 'ready', change: 'none' });
    expect(fake.requests).toEqual(['get network-attachment-definitions']);
  });

  test('creates what is not there before the cache has synced, too', async () => {
    const { fake, ensure } = newProvider();
    fake.hasSynced = false;
    expect(await ensure()).toMatchObject({ change: 'created' });
    expect(fake.requests).toEqual(['get network-attachment-definitions', 'create']);
  });

  test('again asks nothing of the server, also before the cache has caught up with a change', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    fake.sync();
    expect(await ensure(other)).toMatchObject({ change: 'updated' });
    fake.requests.length = 0;
    expect(await ensure(other)).toMatchObject({ change: 'none' });
    expect(fake.requests).toEqual([]);
  });

  test('goes on from what is there where the cache knows of nothing', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    expect(await ensure(other)).toMatchObject({ change: 'updated' });
    expect(fake.requests).toEqual(['create', 'create', 'get network-attachment-definitions', 'patch']);
  });

  test('makes one anew where the cache still shows one that is gone', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    fake.sync();
    fake.live.clear();
    expect(await ensure(other)).toMatchObject({ kind: 'ready' });
    expect(fake.live.get(key)?.spec?.config).toContain('10.0.0.0/16');
  });

  test('finds the conflict where the cache does not show the attachment of somebody else', async () => {
    const { fake, ensure } = newProvider();
    const before = fake.store(foreign);
    expect(await ensure()).toMatchObject({ kind: 'notReady', reason: 'NameConflict' });
    expect(fake.live.get(key)).toEqual(before);
  });

  test('does not patch an attachment that has taken the place of ours', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    fake.sync();
    fake.live.clear();
    const before = fake.store(foreign);
    expect(await ensure(other)).toMatchObject({ reason: 'NameConflict' });
    expect(fake.live.get(key)).toEqual(before);
  });

  test('waits for the finalizers of others on one that is being deleted', async () => {
    const { fake, ensure } = newProvider();
    const { metadata, ...rest } = attachmentFor(network, shape);
    const finalizers = [...metadata.finalizers, 'example.org/theirs'];
    fake.store({ ...rest, metadata: { ...metadata, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    fake.sync();
    expect(await ensure()).toMatchObject({ kind: 'notReady', reason: 'Terminating' });
    expect(fake.live.get(key)?.metadata.finalizers).toEqual(['example.org/theirs']);
  });

  test('says that Multus is missing, and when it looks again', async () => {
    const { fake, ensure } = newProvider();
    fake.refusal = refusal(404, 'NotFound');
    expect(await ensure()).toMatchObject({ reason: 'ProviderUnavailable', retryAfterMs: 10_000 });
  });

  test('ends quietly in a namespace that is being deleted', async () => {
    const { fake, ensure } = newProvider();
    fake.refusal = refusal(403, 'Forbidden', ['NamespaceTerminating']);
    const result = await ensure();
    expect(result).toMatchObject({ kind: 'notReady', reason: 'NamespaceTerminating' });
    expect(result).not.toHaveProperty('retryAfterMs');
  });

  test('throws what else the server refuses', async () => {
    const { fake, ensure } = newProvider();
    fake.refusal = refusal(403, 'Forbidden');
    await expect(ensure()).rejects.toThrow('Forbidden');
  });

  test('gives up where the server calls the patch itself invalid', async () => {
    const { fake, ensure } = newProvider();
    await ensure();
    fake.sync();
    fake.client.jsonPatch = async () => {
      fake.requests.push('patch');
      throw refusal(422, 'Invalid');
    };
    await expect(ensure(other)).rejects.toThrow('Invalid');
    expect(fake.requests.filter((request) => request === 'patch')).toHaveLength(3);
  });
});

describe('on nodes that are joined', () => {
  const mesh = { mtu: () => 1450, capacityOf: () => 46 };
  const limit = { reason: 'NodesNotJoined', message: 'b' } as const;

  function joined(pods: string[] = []) {
    const fake = new FakeAttachments();
    const asked: (string | undefined)[] = [];
    const limitOf = (of: MeshNetwork | undefined) => {
      asked.push(of?.key);
      return limit;
    };
    const usageOf = () => ({ pods });
    const provider = new MultusProvider({ ...fake, usageOf, reach: { limitOf, mesh } });
    const apart = new MultusProvider({ ...fake, usageOf });
    return { fake, asked, pods, provider, apart };
  }

  const pluginOf = (fake: FakeAttachments) => JSON.parse(fake.live.get(key)?.spec?.config ?? '').plugins[0];

  test('a network has a VNI, room for what VXLAN adds, and the addresses of the slices', async () => {
    const { fake, asked, provider } = joined();
    expect(await provider.ensure(network, shape, signal)).toEqual({
      ...{ kind: 'ready', change: 'created', capacity: 46, vni: expect.any(Number), limit },
    });
    expect(pluginOf(fake)).toMatchObject({
      mtu: 1450,
      vni: expect.any(Number),
      ipam: { type: 'envoy-initializer-ipam' },
    });
    expect(asked).toEqual([key]);
    fake.sync();
    expect(await provider.ensure(network, { ...shape, mtu: 1400 } as Subnet, signal)).toMatchObject({
      change: 'updated',
    });
    expect(pluginOf(fake)).toMatchObject({ mtu: 1400 });
  });

  test.each(['joined', 'apart'])('one that pods use stays %s until the last of them is gone', async (how) => {
    const live = newNetwork({ status: shape });
    const { fake, asked, pods, provider, apart } = joined();
    const [before, after] = how === 'apart' ? [apart, provider] : [provider, apart];
    await before.ensure(live, shape, signal);
    fake.sync();
    asked.length = 0;
    pods.push('default/pod');
    const { ipam } = pluginOf(fake);
    expect(await after.ensure(live, shape, signal)).toMatchObject({ change: 'none' });
    if (how === 'apart') expect(asked).toEqual([undefined]);
    pods.length = 0;
    expect(await after.ensure(live, shape, signal)).toMatchObject({ kind: 'ready', change: 'restored' });
    expect(pluginOf(fake).ipam).not.toEqual(ipam);
  });
});

test('what is there a definition does not tell, since users may edit it', async () => {
  const { fake, provider, ensure } = newProvider();
  await ensure();
  fake.sync();
  expect(await provider.actual()).toBeUndefined();
});

describe('removing', () => {
  const remove = (provider: MultusProvider, retain = false) => provider.remove(network, { retain }, signal);

  test('deletes ours, and says when it is gone', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    fake.sync();
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.live.size).toBe(0);
  });

  test('finds one that the cache does not show yet', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.live.size).toBe(0);
  });

  test('goes on where an earlier attempt ended half-way', async () => {
    const { fake, provider } = newProvider();
    const { metadata, ...rest } = attachmentFor(network, shape);
    fake.store({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    fake.sync();
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.requests).toEqual(['patch']);
  });

  test('is content with nothing', async () => {
    const { provider } = newProvider();
    expect(await remove(provider)).toEqual({ kind: 'gone' });
  });

  test('leaves one of somebody else alone, also where the cache shows ours', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    fake.sync();
    fake.live.clear();
    const before = fake.store(foreign);
    expect(await remove(provider)).toEqual({ kind: 'gone' });
    expect(fake.live.get(key)).toEqual(before);
  });

  test('with retain leaves ours behind without an owner', async () => {
    const { fake, provider, ensure } = newProvider();
    await ensure();
    fake.sync();
    expect(await remove(provider, true)).toEqual({ kind: 'gone' });
    expect(fake.live.get(key)?.metadata.ownerReferences).toEqual([]);
  });
});

test('pods are counted where somebody tells them', async () => {
  const fake = new FakeAttachments();
  const counting = new MultusProvider({ ...fake, usageOf: (of) => ({ pods: [`${of}-pod`] }) });
  expect(await counting.usage(network)).toEqual({ pods: ['default/example-network-pod'] });
  expect(await new MultusProvider(fake).usage(network)).toBeUndefined();
});
