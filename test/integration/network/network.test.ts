import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { keyOf } from '../../../src/kube/api/object.ts';
import { MutationCache } from '../../../src/kube/cache/mutation-cache.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { NetworkWriter, StaleCopyError } from '../../../src/networks/controller/network-writer.ts';
import { eventually, NetworkLab } from '../../support/network/network-lab.ts';

jest.setTimeout(60_000);

let lab: NetworkLab;

beforeAll(async () => {
  lab = await NetworkLab.start();
}, 600_000);

afterAll(() => lab?.stop());

/** Ranges apart from each other, so that tests are, too. */
const tenth = (second: number) => ({ cidr: `10.${second}.0.0/16`, gateway: `10.${second}.0.1` });

const CREATION = (name: string) => [
  `patch networks ${name}`,
  'create network-attachment-definitions',
  `patch networks/status ${name}`,
];

describe('a new Network', () => {
  test('becomes real and Ready in exactly three writes', async () => {
    const ns = await lab.createNamespace('new');
    const demo = { cidr: '192.168.0.0/16', gateway: '192.168.0.1' };
    const network = await lab.createReady(ns, 'example-network', demo);
    expect(network.status).toMatchObject({
      observedGeneration: 1,
      ...demo,
      provider: 'multus',
      capacity: { total: 65_533 },
    });
    expect(conditionOf(network.status?.conditions, 'Accepted')?.status).toBe('True');
    expect(conditionOf(network.status?.conditions, 'Progressing')?.status).toBe('False');
    const attachment = await lab.attachment(ns, 'example-network');
    expect(attachment?.metadata.ownerReferences).toMatchObject([
      { uid: network.metadata.uid, controller: true, blockOwnerDeletion: true },
    ]);
    expect(attachment?.spec?.config).toContain('"ipam":{"type":"envoy-initializer-ipam"}');
    await lab.touchAttachment(ns, 'example-network');
    expect(await lab.writes(ns)).toEqual(CREATION('example-network'));
    expect(lab.operator.reasonsFor(`${ns}/example-network`)).toEqual(['Created']);
  });

  test('of an IPv6 range becomes Ready, too', async () => {
    const ns = await lab.createNamespace('six');
    const { status } = await lab.createReady(ns, 'six', {
      cidr: 'fd00:1::/64',
      gateway: 'fd00:1::1',
      mtu: 1400,
    });
    expect(status).toMatchObject({ mtu: 1400, capacity: { total: 65_534 } });
  });

  test('is one of forty at once, and each takes its three writes', async () => {
    const ns = await lab.createNamespace('many');
    const names = Array.from({ length: 40 }, (_, i) => `net-${i}`);
    const specs = names.map((_, i) => ({ cidr: `172.16.${i}.0/24`, gateway: `172.16.${i}.1` }));
    await lab.create(...names.map((name, i) => ({ namespace: ns, name, spec: specs[i] ?? tenth(0) })));
    await lab.kubectl(['-n', ns, 'wait', '--for=condition=Ready', 'network', '--all', '--timeout=30s']);
    expect([...(await lab.writes(ns))].sort()).toEqual(names.flatMap(CREATION).sort());
  });

  test('that was left half-way by a crash is finished with what is there', async () => {
    const ns = await lab.createNamespace('crash');
    await lab.createReady(ns, 'half', tenth(1));
    const before = await lab.attachment(ns, 'half');
    // As if the operator had ended between the creation and the status.
    await lab.operator.stop();
    await lab.kubectl([
      ...['-n', ns, 'patch', 'network', 'half', '--subresource=status', '--type=json'],
      ...['-p', '[{"op":"remove","path":"/status"}]'],
    ]);
    const writesBefore = await lab.writes(ns);
    await lab.restartOperator();
    await lab.waitFor(ns, 'half', 'True Ready');
    expect((await lab.writes(ns)).slice(writesBefore.length)).toEqual(['patch networks/status half']);
    expect((await lab.attachment(ns, 'half'))?.metadata.uid).toBe(before?.metadata.uid);
  });

  test('of a provider that the operator is not set up for is not accepted, and says so', async () => {
    const ns = await lab.createNamespace('neutron');
    await lab.create({ namespace: ns, name: 'other', spec: { ...tenth(2), provider: 'neutron' } });
    const { status } = await lab.waitFor(ns, 'other', 'False ProviderUnavailable');
    expect(conditionOf(status?.conditions, 'Ready')?.message).toBe(
      'provider neutron is not configured in this operator: use one of multus',
    );
    await lab.delete(ns, 'other');
  });
});

describe('a Network that cannot be made', () => {
  test('says why, writes that once, and is tried until it can', async () => {
    const ns = await lab.createNamespace('denied');
    await lab.denyAttachmentsIn(ns);
    await lab.create({ namespace: ns, name: 'a', spec: tenth(21) });
    const { status } = await lab.waitFor(ns, 'a', 'False ReconcileFailed');
    expect(conditionOf(status?.conditions, 'Ready')?.message).toContain('no attachments here');
    expect(conditionOf(status?.conditions, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'Retrying',
    });
    const attempts = (writes: readonly string[]) =>
      writes.filter((write) => write.startsWith('create')).length;
    await eventually('it to be tried again', async () => {
      const count = attempts(await lab.writes(ns));
      return count > 3 ? { value: count } : { otherwise: `${count} attempts` };
    });
    expect((await lab.writes(ns)).filter((write) => !write.startsWith('create'))).toEqual([
      'patch networks a',
      'patch networks/status a',
    ]);
    await lab.allowAttachments();
    await lab.waitFor(ns, 'a', 'True Ready');
    await lab.waitForReasons(ns, 'a', ['ReconcileFailed', 'Created']);
  });
});

describe('a changed Network', () => {
  test('changes the real one, in two writes', async () => {
    const ns = await lab.createNamespace('changed');
    await lab.createReady(ns, 'a', tenth(3));
    await lab.touchAttachment(ns, 'a');
    const before = await lab.writes(ns);
    await lab.edit(ns, 'a', { ...tenth(4), mtu: 1400 });
    const { status } = await lab.waitFor(ns, 'a', 'True Ready');
    expect(status).toMatchObject({ observedGeneration: 2, ...tenth(4), mtu: 1400 });
    const attachment = await lab.attachment(ns, 'a');
    expect(attachment?.spec?.config).toContain('"mtu":1400');
    await lab.touchAttachment(ns, 'a');
    expect((await lab.writes(ns)).slice(before.length)).toEqual([
      'patch network-attachment-definitions a',
      'patch networks/status a',
    ]);
    await lab.waitForReasons(ns, 'a', ['Created', 'Updated']);
  });

  test('ends as it was last asked for, however quickly it is edited', async () => {
    const ns = await lab.createNamespace('quick');
    await lab.create({ namespace: ns, name: 'a', spec: tenth(5) });
    const edits = Array.from({ length: 8 }, (_, i) =>
      lab.edit(ns, 'a', { gateway: `10.5.0.${i + 2}`, mtu: 1300 + i }),
    );
    const labels = Array.from({ length: 8 }, (_, i) =>
      lab.kubectl(['-n', ns, 'label', 'network', 'a', `l${i}=x`]),
    );
    await Promise.all([...edits, ...labels]);
    await lab.edit(ns, 'a', { gateway: '10.5.0.99', mtu: 1400 });
    const { status } = await lab.waitFor(ns, 'a', 'True Ready');
    expect(status).toMatchObject({ gateway: '10.5.0.99', mtu: 1400 });
    expect((await lab.attachment(ns, 'a'))?.spec?.config).toContain('"mtu":1400');
  });

  test('gets its finalizer back when somebody takes it off', async () => {
    const ns = await lab.createNamespace('finalizer');
    await lab.createReady(ns, 'a', tenth(6));
    await lab.kubectl([
      '-n',
      ns,
      'patch',
      'network',
      'a',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    ]);
    await lab.kubectl([
      ...['-n', ns, 'wait', 'network', 'a', '--timeout=20s'],
      '--for=jsonpath={.metadata.finalizers[0]}=samplecrd.k8s.io/network-cleanup',
    ]);
  });
});

describe('a NetworkAttachmentDefinition of ours', () => {
  test('that somebody deletes comes back, and with it our finalizer and owner', async () => {
    const ns = await lab.createNamespace('deleted');
    await lab.createReady(ns, 'a', tenth(7));
    const before = await lab.attachment(ns, 'a');
    await lab.kubectl(['-n', ns, 'delete', 'net-attach-def', 'a', '--timeout=20s']);
    const after = await lab.waitForAttachment(
      ns,
      'a',
      (found) => found !== undefined && found.metadata.uid !== before?.metadata.uid,
    );
    expect(after?.spec).toEqual(before?.spec);
    expect(after?.metadata.ownerReferences).toEqual(before?.metadata.ownerReferences);
    expect(after?.metadata.finalizers).toEqual(before?.metadata.finalizers);
    await lab.waitForReasons(ns, 'a', ['Created', 'Restored']);
  });

  test('that somebody edits is set right, and keeps what others put on it', async () => {
    const ns = await lab.createNamespace('edited');
    await lab.createReady(ns, 'a', tenth(8));
    const before = await lab.attachment(ns, 'a');
    const patch = {
      metadata: { labels: { 'samplecrd.k8s.io/network': null, team: 'net' }, finalizers: null },
      spec: { config: '{"cniVersion":"1.0.0","type":"macvlan"}' },
    };
    await lab.kubectl([
      '-n',
      ns,
      'patch',
      'net-attach-def',
      'a',
      '--type=merge',
      '-p',
      JSON.stringify(patch),
    ]);
    const after = await lab.waitForAttachment(
      ns,
      'a',
      (found) => found?.spec?.config === before?.spec?.config,
    );
    expect(after?.metadata.labels).toEqual({ ...before?.metadata.labels, team: 'net' });
    expect(after?.metadata.finalizers).toEqual(before?.metadata.finalizers);
    await lab.waitForReasons(ns, 'a', ['Created', 'Restored']);
  });
});

describe('a write that was decided on an older copy', () => {
  test('is refused, so that it undoes nothing', async () => {
    const ns = await lab.createNamespace('stale');
    const old = await lab.createReady(ns, 'a', tenth(25));
    await lab.kubectl(['-n', ns, 'label', 'network', 'a', 'changed=yes']);
    const { client } = lab.operator;
    const writer = new NetworkWriter({
      client,
      copies: new MutationCache<Network>({ get: () => undefined }),
      events: { event: () => undefined },
      ...{ clock: systemClock, now: () => new Date() },
    });
    const { signal } = new AbortController();
    await expect(writer.report(old, { cidr: '1.2.3.0/24' }, [], signal)).rejects.toThrow(StaleCopyError);
    await expect(writer.addFinalizer(old, signal)).rejects.toThrow(StaleCopyError);
    await lab.delete(ns, 'a');
    await lab.createReady(ns, 'a', tenth(25));
    await expect(writer.removeFinalizer(old, signal)).rejects.toThrow(StaleCopyError);
    await lab.delete(ns, 'a');
    await expect(writer.report(old, { cidr: '1.2.3.0/24' }, [], signal)).rejects.toThrow(StaleCopyError);
  });
});

describe('a resync', () => {
  test('of idle Networks writes nothing', async () => {
    const ns = await lab.createNamespace('idle');
    const names = ['a', 'b', 'loser'];
    await lab.createReady(ns, 'a', tenth(9));
    await lab.createReady(ns, 'b', tenth(10));
    await lab.create({ namespace: ns, name: 'loser', spec: tenth(9) });
    await lab.waitFor(ns, 'loser', 'False Overlap');
    await lab.restartOperator({ resyncMs: 1_000 });
    const keys = names.map((name) => `${ns}/${name}`);
    await lab.operator.reconciledAgain(keys);
    const before = await lab.writes(ns);
    await lab.operator.reconciledAgain(keys);
    await lab.operator.reconciledAgain(keys);
    expect(await lab.writes(ns)).toEqual(before);
    expect(keys.flatMap((key) => lab.operator.reasonsFor(key))).toEqual([]);
  });

  test('sets right a status that somebody wrote over, though no event asks for it', async () => {
    const ns = await lab.createNamespace('resynced');
    await lab.createReady(ns, 'a', tenth(11));
    await lab.kubectl([
      ...['-n', ns, 'patch', 'network', 'a', '--subresource=status', '--type=merge'],
      ...['-p', '{"status":{"cidr":"1.2.3.0/24"}}'],
    ]);
    await lab.kubectl([
      '-n',
      ns,
      'wait',
      'network',
      'a',
      '--for=jsonpath={.status.cidr}=10.11.0.0/16',
      '--timeout=20s',
    ]);
  });
});

describe('a Network that pods use', () => {
  const pods = new Map<string, readonly string[]>();

  beforeAll(() => lab.restartOperator({ usageOf: (network) => ({ pods: pods.get(keyOf(network)) ?? [] }) }));

  test('stays as it is until the last one goes, and is changed then', async () => {
    const ns = await lab.createNamespace('used');
    await lab.createReady(ns, 'a', tenth(22));
    pods.set(`${ns}/a`, [`${ns}/pod`]);
    await lab.edit(ns, 'a', { ...tenth(23), mtu: 1400 });
    const { status } = await lab.waitFor(ns, 'a', 'True ChangePending');
    expect(status).toMatchObject({ ...tenth(22), attachedPods: 1 });
    expect(conditionOf(status?.conditions, 'Progressing')?.message).toBe(
      'will change to 10.23.0.0/16, gateway 10.23.0.1, MTU 1400 when these pods are gone: used/pod',
    );
    expect((await lab.attachment(ns, 'a'))?.spec?.config).toContain('"mtu":1450');
    pods.delete(`${ns}/a`);
    await lab.touchAttachment(ns, 'a');
    expect((await lab.waitFor(ns, 'a', 'True Ready')).status).toMatchObject({
      ...tenth(23),
      attachedPods: 0,
    });
    expect((await lab.attachment(ns, 'a'))?.spec?.config).toContain('"mtu":1400');
  });

  test('is not taken from under them by its deletion', async () => {
    const ns = await lab.createNamespace('kept');
    await lab.createReady(ns, 'a', tenth(24));
    pods.set(`${ns}/a`, [`${ns}/pod`]);
    await lab.kubectl(['-n', ns, 'delete', 'network', 'a', '--wait=false']);
    await lab.kubectl([
      ...['-n', ns, 'wait', 'network', 'a', '--timeout=20s'],
      `--for=jsonpath={.status.conditions[?(@.type=="Progressing")].message}=waits for the pods that use it: ${ns}/pod`,
    ]);
    expect((await lab.attachment(ns, 'a'))?.metadata.deletionTimestamp).toBeUndefined();
    pods.delete(`${ns}/a`);
    await lab.touchAttachment(ns, 'a');
    await lab.kubectl(['-n', ns, 'wait', '--for=delete', 'network', 'a', '--timeout=20s']);
  });
});

describe('where Multus is not installed', () => {
  test('a Network is ProviderUnavailable, and becomes Ready once it is', async () => {
    const ns = await lab.createNamespace('unavailable');
    const crd = 'network-attachment-definitions.k8s.cni.cncf.io';
    const definition = await lab.kubectl(['get', 'crd', crd, '-o', 'json']);
    await lab.operator.stop();
    await lab.kubectl(['delete', 'crd', crd, '--wait=false']);
    await lab.releaseAttachments();
    await eventually('the CRD to be gone', async () => {
      const gone = (await lab.kubectl(['get', 'crd', '-o', 'name'])).includes(crd) === false;
      return gone ? { value: true } : { otherwise: 'there' };
    });
    await lab.restartOperator();
    await lab.create({ namespace: ns, name: 'a', spec: tenth(12) });
    const { status } = await lab.waitFor(ns, 'a', 'False ProviderUnavailable');
    expect(conditionOf(status?.conditions, 'Ready')?.message).toContain('install Multus');
    expect(conditionOf(status?.conditions, 'Progressing')?.status).toBe('True');
    const { metadata, ...rest } = JSON.parse(definition);
    await lab.kubectl(
      ['create', '-f', '-'],
      JSON.stringify({ ...rest, metadata: { name: metadata.name }, status: undefined }),
    );
    await lab.waitFor(ns, 'a', 'True Ready');
    await lab.waitForReasons(ns, 'a', ['ProviderUnavailable', 'Created']);
  });
});
