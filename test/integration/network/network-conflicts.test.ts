import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import { NETWORKS } from '../../../src/networks/api/resources.ts';
import { eventually, NetworkLab } from '../../support/network/network-lab.ts';

jest.setTimeout(60_000);

let lab: NetworkLab;

beforeAll(async () => {
  lab = await NetworkLab.start();
}, 600_000);

afterAll(() => lab?.stop());

const tenth = (second: number) => ({ cidr: `10.${second}.0.0/16`, gateway: `10.${second}.0.1` });

const FOREIGN = (namespace: string, name: string) =>
  JSON.stringify({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace, name },
    spec: { config: '{"cniVersion":"1.0.0","type":"macvlan"}' },
  });

describe('a NetworkAttachmentDefinition of somebody else', () => {
  test('is in the way, is not touched, and once it is gone the Network becomes Ready', async () => {
    const ns = await lab.createNamespace('foreign');
    await lab.kubectl(['create', '-f', '-'], FOREIGN(ns, 'a'));
    const before = await lab.attachment(ns, 'a');
    await lab.create({ namespace: ns, name: 'a', spec: tenth(1) });
    const { status } = await lab.waitFor(ns, 'a', 'False NameConflict');
    expect(conditionOf(status?.conditions, 'Ready')?.message).toBe(
      'NetworkAttachmentDefinition foreign/a exists and does not belong to this Network: delete it, or rename the Network',
    );
    expect(await lab.attachment(ns, 'a')).toEqual(before);
    await lab.kubectl(['-n', ns, 'delete', 'net-attach-def', 'a']);
    await lab.waitFor(ns, 'a', 'True Ready');
    await lab.waitForReasons(ns, 'a', ['NameConflict', 'Created']);
  });

  test('outlives the Network that it was in the way of', async () => {
    const ns = await lab.createNamespace('outlives');
    await lab.kubectl(['create', '-f', '-'], FOREIGN(ns, 'a'));
    await lab.create({ namespace: ns, name: 'a', spec: tenth(2) });
    await lab.waitFor(ns, 'a', 'False NameConflict');
    const before = await lab.attachment(ns, 'a');
    await lab.delete(ns, 'a');
    expect(await lab.attachment(ns, 'a')).toEqual(before);
  });

  test('that was ours is ours again when a user takes the owner away', async () => {
    const ns = await lab.createNamespace('disowned');
    await lab.createReady(ns, 'a', tenth(4));
    const before = await lab.attachment(ns, 'a');
    const owner = '[{"op":"remove","path":"/metadata/ownerReferences"}]';
    await lab.kubectl(['-n', ns, 'patch', 'net-attach-def', 'a', '--type=json', '-p', owner]);
    const after = await lab.waitForAttachment(ns, 'a', (now) => now?.metadata.ownerReferences !== undefined);
    expect(after?.metadata.ownerReferences).toEqual(before?.metadata.ownerReferences);
    expect(after?.metadata.uid).toBe(before?.metadata.uid);
    await lab.waitFor(ns, 'a', 'True Ready');
  });

  test('that comes between is judged by what is there, not by the cache', async () => {
    const ns = await lab.createNamespace('between');
    await lab.createReady(ns, 'a', tenth(3));
    // The owner, the annotation and the text each show that it is ours.
    const foreign = JSON.stringify({
      metadata: { ownerReferences: null, annotations: null },
      spec: { config: '{"cniVersion":"1.0.0","type":"macvlan"}' },
    });
    await lab.kubectl(['-n', ns, 'patch', 'net-attach-def', 'a', '--type=merge', '-p', foreign]);
    await lab.waitFor(ns, 'a', 'False NameConflict');
    await lab.delete(ns, 'a');
    const left = await lab.attachment(ns, 'a');
    expect(left?.metadata.finalizers).toBeUndefined();
    expect(left?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('of Networks that overlap', () => {
  test('the one that is real keeps its range; the other says so without its name, and gets it when that goes', async () => {
    const [one, two] = [await lab.createNamespace('one'), await lab.createNamespace('two')];
    await lab.createReady(one, 'holder', tenth(11));
    await lab.create({ namespace: two, name: 'loser', spec: { cidr: '10.11.9.0/24', gateway: '10.11.9.1' } });
    const { status, metadata } = await lab.waitFor(two, 'loser', 'False Overlap');
    expect(conditionOf(status?.conditions, 'Accepted')).toMatchObject({
      status: 'False',
      reason: 'Overlap',
      message:
        '10.11.9.0/24 overlaps 10.11.0.0/16 of a Network of another namespace: write a range that does not overlap it',
    });
    expect(metadata.finalizers).toBeUndefined();
    expect(await lab.attachment(two, 'loser')).toBeUndefined();
    expect(await lab.writes(two)).toEqual(['patch networks/status loser']);
    await lab.delete(one, 'holder');
    await lab.waitFor(two, 'loser', 'True Ready');
    await lab.waitForReasons(two, 'loser', ['Overlap', 'Created']);
  });

  test('the loser gets the range when the holder changes to another', async () => {
    const ns = await lab.createNamespace('moves');
    await lab.createReady(ns, 'holder', tenth(12));
    await lab.create({ namespace: ns, name: 'loser', spec: tenth(12) });
    await lab.waitFor(ns, 'loser', 'False Overlap');
    await lab.edit(ns, 'holder', tenth(13));
    await lab.waitFor(ns, 'loser', 'True Ready');
    await lab.waitFor(ns, 'holder', 'True Ready');
  });

  test('the loser gets the range once the real network is gone, though others still keep the object', async () => {
    const ns = await lab.createNamespace('lingers');
    await lab.create({ namespace: ns, name: 'holder', spec: tenth(21), finalizers: ['example.org/theirs'] });
    await lab.waitFor(ns, 'holder', 'True Ready');
    await lab.create({ namespace: ns, name: 'loser', spec: tenth(21) });
    await lab.waitFor(ns, 'loser', 'False Overlap');
    await lab.kubectl(['-n', ns, 'delete', 'network', 'holder', '--wait=false']);
    await lab.waitFor(ns, 'loser', 'True Ready');
    const release = '{"metadata":{"finalizers":null}}';
    await lab.kubectl(['-n', ns, 'patch', 'network', 'holder', '--type=merge', '-p', release]);
  });

  test('the loser becomes Ready when it is changed itself', async () => {
    const ns = await lab.createNamespace('yields');
    await lab.createReady(ns, 'holder', tenth(14));
    await lab.create({ namespace: ns, name: 'loser', spec: tenth(14) });
    await lab.waitFor(ns, 'loser', 'False Overlap');
    await lab.edit(ns, 'loser', tenth(15));
    await lab.waitFor(ns, 'loser', 'True Ready');
  });

  test('an edit takes no range from a live network, and leaves its own as it is', async () => {
    const ns = await lab.createNamespace('edit');
    await lab.createReady(ns, 'old', tenth(16));
    await lab.createReady(ns, 'young', tenth(17));
    const before = await lab.attachment(ns, 'old');
    await lab.edit(ns, 'old', tenth(17));
    const { status } = await lab.waitFor(ns, 'old', 'True ChangeRefused');
    expect(status).toMatchObject(tenth(16));
    expect(conditionOf(status?.conditions, 'Accepted')).toMatchObject({ status: 'False', reason: 'Overlap' });
    expect(await lab.attachment(ns, 'old')).toEqual(before);
    await lab.create({ namespace: ns, name: 'third', spec: tenth(16) });
    await lab.waitFor(ns, 'third', 'False Overlap');
  });

  test('exactly one of many becomes Ready, and exactly one more when it goes', async () => {
    const ns = await lab.createNamespace('crowd');
    const names = Array.from({ length: 12 }, (_, i) => `net-${i}`);
    await lab.create(...names.map((name) => ({ namespace: ns, name, spec: tenth(18) })));
    const first = await readyOnes(ns, names.length);
    expect(first).toHaveLength(1);
    const [winner = ''] = first;
    await lab.delete(ns, winner);
    const next = await eventually('another one to be Ready', async () => {
      const ready = await readyOnes(ns, names.length - 1);
      return ready.length > 0 ? { value: ready } : { otherwise: 'none' };
    });
    expect(next).toHaveLength(1);
  });

  test('the holder is known to an operator that has just started', async () => {
    const ns = await lab.createNamespace('restart');
    await lab.create({ namespace: ns, name: 'old', spec: tenth(19) });
    await lab.waitFor(ns, 'old', 'True Ready');
    await lab.createReady(ns, 'young', tenth(20));
    await lab.operator.stop();
    await lab.edit(ns, 'old', tenth(20));
    await lab.restartOperator();
    await lab.waitFor(ns, 'old', 'True ChangeRefused');
    await lab.waitFor(ns, 'young', 'True Ready');
  });
});

/** Names of the Networks that are Ready, once all of the namespace have been judged. */
function readyOnes(namespace: string, total: number): Promise<readonly string[]> {
  return eventually(`the Networks of ${namespace} to be judged`, async () => {
    const { items } = await lab.operator.client.list(NETWORKS, { namespace });
    const judged = items
      .map((item) => NETWORKS.decode(item))
      .map(({ metadata, status }) => ({
        name: metadata.name,
        ready: conditionOf(status?.conditions, 'Ready')?.status,
      }))
      .filter(({ ready }) => ready !== undefined);
    if (judged.length < total) return { otherwise: `${judged.length} of ${total}` };
    return { value: judged.filter(({ ready }) => ready === 'True').map(({ name }) => name) };
  });
}
