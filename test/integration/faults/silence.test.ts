import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { ProxiedOperator, prepareForOperators } from '../../support/faults/proxied-operator.ts';
import { bookmark } from '../../support/kube/scripted-objects.ts';

jest.setTimeout(180_000);

let controlPlane: ControlPlane;
let lab: FaultLab;
let subject: ProxiedOperator;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  lab = await FaultLab.before(controlPlane);
  await prepareForOperators(controlPlane);
  subject = await ProxiedOperator.start(controlPlane, lab, {
    name: 'silence',
    namespace: await lab.namespace(),
  });
});
afterAll(async () => {
  await subject?.kill();
  await lab?.close();
  await controlPlane?.stop();
});

/** The values of a gauge by its one label. */
async function gauge(name: string): Promise<Readonly<Record<string, number>>> {
  const samples = (await subject.metrics()).matchAll(new RegExp(`^${name}\\{\\w+="(.*)"\\} (.*)$`, 'gm'));
  return Object.fromEntries([...samples].map(([, label = '', value]) => [label, Number(value)]));
}

const contacts = () => gauge('envoy_initializer_cache_last_contact_timestamp_seconds');
const isListOrWatch = (url: string) => /[?&](watch|limit|resourceVersion)=/.test(url);
const resourceOf = (url: string) => new URL(url, 'http://proxy').pathname.split('/').at(-1) ?? '';

test('a leader that is told nothing says so in its metrics, is not restarted, and answers pods', async () => {
  await subject.createNetwork('first', 1);
  await eventually('it leads', () => subject.isReady('first'));
  const resources = Object.keys(await contacts()).sort();
  expect(resources).toEqual(
    expect.arrayContaining(['configmaps', 'namespaces', 'networks', 'nodes', 'pods']),
  );

  /** Waits until each of them was asked for in vain once more. */
  const refused = async () => {
    const from = subject.proxy.requests.length;
    await eventually('each is refused', async () => {
      const met = subject.proxy.requests.slice(from).filter(({ status }) => status === 503);
      return resources.every((resource) => met.some(({ url }) => resourceOf(url) === resource));
    });
  };
  subject.proxy.always = ({ url }) => (isListOrWatch(url) ? { kind: 'status', code: 503 } : undefined);
  subject.proxy.cutHealthyWatches();
  await refused();
  const before = await contacts();
  await subject.createNetwork('unseen', 2);
  await refused();
  expect(await contacts()).toEqual(before);
  expect(await gauge('leader_election_master_status')).toEqual({ 'envoy-initializer': 1 });
  for (const probe of ['healthz', 'readyz']) {
    expect([probe, (await fetch(`${subject.operator.metricsUrl}/${probe}`)).status]).toEqual([probe, 200]);
  }
  expect(await subject.isReady('unseen')).toBe(false);

  subject.proxy.always = () => undefined;
  const version = await subject.resourceVersion();
  await eventually('each is heard again', async () => {
    // The server sends one each minute to a watch on which nothing happens.
    subject.proxy.say(`${JSON.stringify(bookmark(version))}\n`);
    const now = await contacts();
    return resources.every((resource) => (now[resource] ?? 0) > (before[resource] ?? 0));
  });
  await eventually('what was unseen is Ready', () => subject.isReady('unseen'));
  expect(Object.values(await gauge('envoy_initializer_cache_synced'))).toEqual(resources.map(() => 1));
});
