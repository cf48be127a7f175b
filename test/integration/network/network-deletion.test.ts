import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import { NetworkLab } from '../../support/network/network-lab.ts';

jest.setTimeout(90_000);

let lab: NetworkLab;

beforeAll(async () => {
  lab = await NetworkLab.start();
}, 600_000);

afterAll(() => lab?.stop());

const tenth = (second: number) => ({ cidr: `10.${second}.0.0/16`, gateway: `10.${second}.0.1` });

describe('a deleted namespace', () => {
  test('goes with all that is in it', async () => {
    const ns = await lab.createNamespace('gone');
    const numbers = [31, 32, 33, 34, 35];
    await lab.create(...numbers.map((n) => ({ namespace: ns, name: `net-${n}`, spec: tenth(n) })));
    await lab.create({ namespace: ns, name: 'loser', spec: tenth(31) });
    await lab.waitFor(ns, 'loser', 'False Overlap');
    await lab.kubectl(['delete', 'namespace', ns, '--timeout=40s']);
    expect(await lab.kubectl(['get', 'namespace', '-o', 'name'])).not.toContain('namespace/gone\n');
  });

  test('goes, too, where Networks were being made when it was deleted', async () => {
    const ns = await lab.createNamespace('midway');
    const numbers = Array.from({ length: 20 }, (_, i) => 40 + i);
    await lab.create(...numbers.map((n) => ({ namespace: ns, name: `net-${n}`, spec: tenth(n) })));
    await lab.kubectl(['delete', 'namespace', ns, '--timeout=40s']);
    expect(await lab.kubectl(['get', 'namespace', '-o', 'name'])).not.toContain('namespace/midway\n');
  });
});

// Last: the garbage collector, which has a part in it, looks for new kinds of objects every 30 s only.
test.each(['background', 'foreground'])(
  'kubectl delete --cascade=%s takes the real network along',
  async (cascade) => {
    const ns = await lab.createNamespace(`deleted-${cascade}`);
    await lab.createReady(ns, 'a', tenth(1));
    await lab.delete(ns, 'a', `--cascade=${cascade}`);
    await lab.waitForAttachment(ns, 'a', (found) => found === undefined);
    await lab.waitForReasons(ns, 'a', ['Created', 'Deleted']);
  },
);

test.each([
  ['with deletionPolicy Retain', 'retain', { deletionPolicy: 'Retain' } as const, 'background'],
  ['by --cascade=orphan', 'orphan', {}, 'orphan'],
])('a deletion %s leaves the real network behind, as nobody’s', async (_, ns, spec, cascade) => {
  await lab.createNamespace(ns);
  await lab.createReady(ns, 'a', { ...tenth(4), ...spec });
  const before = await lab.attachment(ns, 'a');
  await lab.delete(ns, 'a', `--cascade=${cascade}`);
  const left = await lab.waitForAttachment(ns, 'a', (found) => !found?.metadata.ownerReferences?.length);
  expect(left?.spec).toEqual(before?.spec);
  expect(left?.metadata.finalizers).toBeUndefined();
  expect(left?.metadata.deletionTimestamp).toBeUndefined();
  // As a PersistentVolume that was retained, it serves the next of that name only if a user says so.
  await lab.create({ namespace: ns, name: 'a', spec: { ...tenth(4), mtu: 1400 } });
  const refused = await lab.waitFor(ns, 'a', 'False NameConflict');
  expect(conditionOf(refused.status?.conditions, 'Ready')?.message).toMatch(/remains from a deleted Network/);
  expect((await lab.attachment(ns, 'a'))?.spec).toEqual(before?.spec);
  await lab.kubectl(['-n', ns, 'annotate', 'net-attach-def', 'a', 'samplecrd.k8s.io/network-uid-']);
  await lab.waitFor(ns, 'a', 'True Ready');
  const adopted = await lab.attachment(ns, 'a');
  expect(adopted?.metadata.uid).toBe(before?.metadata.uid);
  expect(adopted?.metadata.ownerReferences?.[0]?.uid).toBe(refused.metadata.uid);
  expect(adopted?.spec?.config).toContain('"mtu":1400');
  await lab.delete(ns, 'a');
});

test('a Network whose finalizer somebody took off, and which was made anew, gets an attachment of its own', async () => {
  const ns = await lab.createNamespace('renewed');
  await lab.createReady(ns, 'a', tenth(7));
  const before = await lab.attachment(ns, 'a');
  await lab.operator.stop();
  await lab.kubectl(['-n', ns, 'delete', 'network', 'a', '--wait=false']);
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
  await lab.create({ namespace: ns, name: 'a', spec: { ...tenth(8), mtu: 1400 } });
  await lab.restartOperator();
  await lab.waitFor(ns, 'a', 'True Ready');
  const after = await lab.attachment(ns, 'a');
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
  expect(after?.spec?.config).toContain('"mtu":1400');
});
