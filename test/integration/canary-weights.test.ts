import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../hack/control-plane/control-plane.ts';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { startControlPlane } from '../../hack/control-plane/start.ts';
import { eventually } from '../../hack/eventually.ts';
import { must } from '../../hack/operator.ts';
import { weightFaults } from '../../src/envoy/weights.ts';

const WEIGHED = { 'initializer.kubernetes.io/envoy-weights': 'true' };
const deploy = join(projectDirectory(), 'deploy');

let starting: Promise<ControlPlane>;
let controlPlane: ControlPlane;

beforeAll(async () => {
  starting = startControlPlane();
  controlPlane = await starting;
  await must(controlPlane, ['apply', '-f', join(deploy, 'base/canary-weights.yaml')]);
  // The API server compiles a policy, and takes note of its binding, a moment later.
  await eventually('weights are looked at', async () => (await refusal({ 'a.b': 'none' })) !== '');
});

afterAll(async () => {
  // Also when it was too slow for the test that asked for it.
  await (await starting).stop();
});

/** What kubectl prints to whoever applies such a ConfigMap; empty where it is taken. */
async function refusal(data: object | undefined, labels: object = WEIGHED): Promise<string> {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'weights', labels }, data };
  const args = ['apply', '--dry-run=server', '-f', '-'];
  const { code, stderr } = await controlPlane.kubectl(args, { input: JSON.stringify(configMap) });
  return code === 0 ? '' : stderr;
}

test.each<Readonly<Record<string, string>>>([
  { 'canary.app_v1': '90', 'canary.app_v2': '10' },
  { 'canary.app_v1': '0', 'canary.app_v2': '100\n' },
  { 'canary.app_v1': '0', 'canary.app_v2': '10%' },
  { 'canary.app_v1': '0.5', 'canary.app_v2': '1' },
  { 'canary.app_v1': '-1', 'canary.app_v2': '1' },
  { 'canary.app_v1': '', 'canary.app_v2': '1' },
  { 'canary.app_v1': '1234567890' },
  { 'canary.app_v1': '0', 'canary.app_v2': '00\n' },
  { 'a.x': '0', 'a.y': '1', 'b.x': '0', 'b.y': '0' },
  { 'a.b.x': '0', 'a.c.x': '1' },
])('of weights, the API server refuses what lint has something against, in its words: %j', async (data) => {
  const [fault] = weightFaults(data);
  const refused = await refusal(data);
  if (fault === undefined) expect(refused).toBe('');
  else expect(refused).toContain(`denied request: data`);
  expect(refused).toContain(fault?.message ?? '');
});

test('weights that are not there are those of the configuration, and no fault', async () => {
  expect(await refusal(undefined)).toBe('');
});

test('what is in a ConfigMap without the label is not looked at', async () => {
  expect(await refusal({ 'ca.crt': 'a certificate' }, {})).toBe('');
});

test('the weights of the example are taken', async () => {
  await must(controlPlane, ['apply', '-f', join(deploy, 'examples/canary/weights.yaml')]);
});
