import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { listed, must, startOperator } from '../../env/operator.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import { fencedCalls, forbiddenCalls } from '../../support/operator/rights.ts';

jest.setTimeout(120_000);

const NAMESPACE = 'mesh-system';
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:envoy-initializer`;
let controlPlane: ControlPlane;
const kubectl = async (line: string, input = '') =>
  (await must(controlPlane, line.split(' '), input)).stdout.trim();
const apply = (...objects: readonly object[]) => kubectl('apply -f -', listed(objects));

/** The whole operator, installed in a namespace of another name. */
beforeAll(async () => {
  controlPlane = await startControlPlane({ auditLog: 'Metadata' });
  const multus = 'test/env/control-plane/network-attachment-definition-crd.yaml';
  await kubectl(`apply -f ${join(projectDirectory(), multus)}`);
  await kubectl(`create namespace ${NAMESPACE}`);
  await serviceAccount(controlPlane, NAMESPACE);
  await startOperator(controlPlane, {
    log: join(controlPlane.directory, 'operator.log'),
    namespace: NAMESPACE,
    args: ['--policy=off'],
  });
}, 600_000);

afterAll(() => controlPlane?.stop());

test('an operator in another namespace injects sidecars, gives addresses, and is refused nothing', async () => {
  await apply({
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name: 'blue', namespace: 'default' },
    spec: { cidr: '10.20.0.0/24', gateway: '10.20.0.1' },
  });
  await kubectl('wait network/blue --for=condition=Ready --timeout=30s');
  const annotations = { 'samplecrd.k8s.io/network': 'blue', 'initializer.kubernetes.io/envoy': 'true' };
  await serviceAccount(controlPlane, 'default');
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'both', namespace: 'default', annotations },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  });
  const pod = () => kubectl('get pod both -o yaml');
  await eventually('the pod has an address', async () => (await pod()).includes('10.20.0.2/24'));
  expect(await pod()).toContain('initializer.kubernetes.io/envoy-status');
  expect(await forbiddenCalls(controlPlane.auditLogPath, ACCOUNT)).toEqual([]);
  expect(await fencedCalls(controlPlane.auditLogPath, ACCOUNT)).toEqual([]);
});

test('an operator in another namespace has its account held by the fence', async () => {
  const asked = controlPlane.kubectl([
    ...['create', 'configmap', 'any', `--namespace=${NAMESPACE}`, '--dry-run=server', `--as=${ACCOUNT}`],
  ]);
  expect((await asked).stderr).toContain("'envoy-initializer-fence'");
});

test('the account of an operator in another namespace alone changes the file of routes', async () => {
  const routes = (text: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'envoy-routes', labels: { 'initializer.kubernetes.io/routes-of': NAMESPACE } },
      data: { 'rds.json': text },
    });
  const write = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  await must(controlPlane, write, routes('old'));
  const { stderr } = await controlPlane.kubectl(write, { input: routes('new') });
  expect(stderr).toContain("'envoy-initializer-routes'");
  await must(controlPlane, [...write, `--as=${ACCOUNT}`], routes('new'));
});
