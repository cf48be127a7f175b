import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

const ASKED = 'controller_runtime_webhook_requests_total{webhook="/validate-envoy",code="200"} ';
let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture();
}, 600_000);

afterAll(() => fixture?.stop());

/** `kubectl apply` of a ConfigMap, as a user does it. */
async function apply(name: string, data: Readonly<Record<string, string>>, labels: object = {}) {
  const metadata = { name, namespace: 'default', labels };
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  const { code, stderr } = await fixture.controlPlane.kubectl(['apply', '-f', '-'], { input });
  return { code, stderr };
}

/** How many calls the webhook has answered. */
async function asked(): Promise<number> {
  const text = await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(ASKED));
  return Number(line?.slice(ASKED.length) ?? 0);
}

const OLD = JSON.stringify({
  static_resources: { clusters: [{ name: 'app', hosts: [{ socket_address: { address: 'app' } }] }] },
});

test('kubectl apply of a configuration by which Envoy would not start warns of where and what, and takes it', async () => {
  expect(await apply('envoy', { 'envoy.json': OLD })).toEqual({
    code: 0,
    stderr:
      'Warning: Envoy may reject this configuration: envoy.json:1:49: static_resources.clusters[0].hosts: belongs to the v2 API, which Envoy removed in 1.18: write load_assignment\n',
  });
  expect(await apply('envoy', { 'envoy.json': '{"static_resources": {}}' })).toEqual({ code: 0, stderr: '' });
});

test('kubectl apply of weights by which no request is answered is refused, and those before stay', async () => {
  const labels = { 'initializer.kubernetes.io/envoy-weights': 'true' };
  const weights = (v1: string, v2: string) =>
    apply('app-weights', { 'canary.app_v1': v1, 'canary.app_v2': v2 }, labels);
  expect(await weights('90', '10')).toEqual({ code: 0, stderr: '' });
  expect(await weights('0', '0')).toEqual({
    code: 1,
    stderr:
      'The ConfigMap "app-weights" is invalid: data.canary.app_v1: all weights of canary are 0, so every request gets 404: give at least one a higher weight\n',
  });
  expect(await weights('90%', '10')).toEqual({
    code: 1,
    stderr:
      'The ConfigMap "app-weights" is invalid: data.canary.app_v1: must be a whole number such as "10", not "90%"\n',
  });
  const stored = await fixture.kubectl('get', 'configmap', 'app-weights', '-o', 'jsonpath={.data}');
  expect(JSON.parse(stored)).toEqual({ 'canary.app_v1': '90', 'canary.app_v2': '10' });
});

test('other ConfigMaps are not asked about', async () => {
  const before = await asked();
  expect(before).toBeGreaterThan(0);
  expect(await apply('other', { 'envoy.json': OLD, 'canary.app_v1': '0' })).toEqual({ code: 0, stderr: '' });
  expect(await asked()).toBe(before);
});

testWithControllerManager('the copies that the operator makes are not asked about, either', async () => {
  await fixture.kubectl('create', 'namespace', 'copied');
  await fixture.kubectl(
    ...'wait serviceaccount/default --namespace=copied --for=create --timeout=60s'.split(' '),
  );
  const before = await asked();
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'copied', annotations: { [OPT_IN]: 'true' } },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  });
  await eventually('the copy is there', async () => {
    return (await fixture.kubectl('get', 'configmaps', '--namespace=copied', '-o', 'name')).includes(
      '/envoy\n',
    );
  });
  expect(await asked()).toBe(before);
});
