import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { USER_AGENT } from '../../../src/kube/util/version.ts';
import { eventually } from '../../env/eventually.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

const WEBHOOKS = 'mutatingwebhookconfiguration/envoy-initializer';
let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture({ auditLog: 'Request' });
});

afterAll(() => fixture?.stop());

async function metric(name: string): Promise<number> {
  const text = await fixture.metrics();
  const line = text.split('\n').find((candidate) => candidate.startsWith(name));
  return Number(line?.split(' ').at(-1));
}

async function setCaBundle(pem: string): Promise<void> {
  const operation = { op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: btoa(pem) };
  await fixture.kubectl('patch', WEBHOOKS, '--type=json', '--patch', JSON.stringify([operation]));
}

test('an operator with its certificate in files says when it expires, and that the API server trusts it', async () => {
  const days =
    (await metric('envoy_initializer_certificate_expiration_timestamp_seconds')) - Date.now() / 1000;
  expect(Math.round(days / 86_400)).toBe(30);
  expect(await metric('envoy_initializer_ca_bundle_in_sync')).toBe(1);
});

test('an operator with its certificate in files says when it is untrusted, and leaves caBundle alone', async () => {
  await setCaBundle('another');
  await eventually('it has seen so', async () => (await metric('envoy_initializer_ca_bundle_in_sync')) === 0);
  // It stays ready: no replica is any better.
  expect((await fetch(`${fixture.operator.metricsUrl}/readyz`)).status).toBe(200);
  await setCaBundle(fixture.operator.caPem);
  await eventually('it has seen so', async () => (await metric('envoy_initializer_ca_bundle_in_sync')) === 1);
});

test('an operator with its certificate in files makes the namespace own the webhooks, and writes no Secret', async () => {
  const owner = ['-o', 'jsonpath={.metadata.ownerReferences[*].name}'];
  await eventually(
    'it is',
    async () => (await fixture.kubectl('get', WEBHOOKS, ...owner)) === 'envoy-initializer',
  );
  const lines = (await readFile(fixture.controlPlane.auditLogPath, 'utf8')).trim().split('\n');
  const ours = lines.map((line) => JSON.parse(line)).filter(({ userAgent }) => userAgent === USER_AGENT);
  const patches = ours.filter(
    ({ verb, objectRef }) => verb === 'patch' && objectRef.resource === 'mutatingwebhookconfigurations',
  );
  expect(patches.map(({ requestObject }) => requestObject.map(({ path }: { path: string }) => path))).toEqual(
    [['/metadata/resourceVersion', '/metadata/ownerReferences']],
  );
  // One of OpenStack's it may have besides.
  const secrets = ours.filter(({ objectRef }) => objectRef?.resource === 'secrets');
  expect(secrets.filter(({ objectRef }) => objectRef?.name !== 'envoy-initializer-neutron')).toEqual([]);
});

testWithControllerManager(
  'an operator with its certificate in files leaves no webhook behind when its namespace is deleted',
  async () => {
    await fixture.kubectl('delete', 'namespace', 'envoy-initializer', '--wait=false');
    await fixture.kubectl('wait', '--for=delete', WEBHOOKS, '--timeout=30s');
    expect(await fixture.kubectl('get', 'mutatingwebhookconfigurations', '-o', 'name')).toBe('');
  },
);
