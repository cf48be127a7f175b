import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { podReview } from '../../support/injection/admission-review.ts';
import { HttpsClient } from '../../support/kube/https-client.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { untilTrue } from '../../support/time/until-true.ts';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture({ args: ['--shutdown-delay=3s'] });
});

afterAll(() => fixture?.stop());

function network(name: string, index: number) {
  const range = `10.${200 + Math.floor(index / 256)}.${index % 256}`;
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name, namespace: 'default' },
    spec: { cidr: `${range}.0/24`, gateway: `${range}.1` },
  };
}

async function names(resource: string, condition = ''): Promise<readonly string[]> {
  const path = `{range .items[*]}{.metadata.name}${condition}{"\\n"}{end}`;
  const printed = await fixture.kubectl('get', resource, '-n', 'default', '-o', `jsonpath=${path}`);
  return printed
    .split('\n')
    .filter((line) => line !== '')
    .toSorted();
}

const READY = ' {.status.conditions[?(@.type=="Ready")].status}';

async function injects(name: string): Promise<boolean> {
  const annotations = { 'initializer.kubernetes.io/envoy': 'true' };
  const { stdout } = await fixture.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', annotations },
    spec: { containers: [{ name: 'app', image: 'busybox' }] },
  });
  expect(stdout).toContain('created');
  return (
    (await fixture.kubectl('get', 'pod', name, '-o', 'jsonpath={.spec.containers[*].name}')) === 'app envoy'
  );
}

test('an operator that is killed while it makes 200 Networks, and started again, leaves 200 and no more', async () => {
  const wanted = Array.from({ length: 200 }, (_, i) => `net-${String(i).padStart(3, '0')}`);
  const applied = fixture.apply(...wanted.map(network));
  await eventually(
    'some of them are made',
    async () => (await names('network-attachment-definitions')).length >= 20,
  );
  fixture.operator.process.kill('SIGKILL');
  await fixture.operator.restart();
  await applied;
  const ready = wanted.map((name) => `${name} True`);
  await eventually(
    'all of them are Ready',
    async () => (await names('networks', READY)).join() === ready.join(),
  );
  expect(await names('network-attachment-definitions')).toEqual(wanted);
});

test('the operator does not mention OpenStack, for which no Secret asks', async () => {
  const lines = (await readFile(fixture.logFile, 'utf8')).trim().split('\n');
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter((line) => /neutron|openstack/i.test(line))).toEqual([]);
});

test('an operator that ends sends callers elsewhere, gives back its lease and ends with 0', async () => {
  const { webhookUrl, caPem } = fixture.operator;
  const client = new HttpsClient(Number(new URL(webhookUrl).port), caPem);
  const review = JSON.stringify(podReview());
  const connection = async () => (await client.call('/inject', review)).headers.connection;
  expect(await connection()).toBe('keep-alive');
  fixture.operator.process.kill('SIGTERM');
  await untilTrue(async () => (await connection()) === 'close');
  expect(await fixture.operator.process.exited).toEqual({ code: 0, signal: null });
  const lease = [
    'get',
    'lease',
    'envoy-initializer',
    '-n',
    'envoy-initializer',
    '-o',
    'jsonpath={.spec.holderIdentity}',
  ];
  expect(await fixture.kubectl(...lease)).toBe('');
  await fixture.operator.restart();
  expect(await injects('after-the-restart')).toBe(true);
});
