import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../hack/control-plane/control-plane.ts';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { startControlPlane } from '../../hack/control-plane/start.ts';

const deploy = join(projectDirectory(), 'deploy');
let starting: Promise<ControlPlane>;
let controlPlane: ControlPlane;

beforeAll(async () => {
  starting = startControlPlane();
  controlPlane = await starting;
});

afterAll(async () => {
  // Also when it was too slow for the test that asked for it.
  await (await starting).stop();
});

async function apply(...args: readonly string[]) {
  return await controlPlane.kubectl(['apply', ...args]);
}

describe('the manifests', () => {
  test('are accepted as a whole, with nothing to warn of', async () => {
    const { code, stderr, stdout } = await apply('-k', join(deploy, 'base'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('deployment.apps/envoy-initializer created');
    expect(stdout).toContain(
      'customresourcedefinition.apiextensions.k8s.io/networks.samplecrd.k8s.io created',
    );
    expect(stdout).toContain(
      'mutatingwebhookconfiguration.admissionregistration.k8s.io/envoy-initializer created',
    );
  });

  test('applied again change nothing', async () => {
    const { stdout } = await apply('-k', join(deploy, 'base'));
    const lines = stdout.trim().split('\n');
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
  });

  test('make a pod that the restricted pod security of their namespace lets in', async () => {
    if (!controlPlane.hasControllerManager) return expect(controlPlane.hasControllerManager).toBe(false);
    const { code } = await controlPlane.kubectl([
      ...['wait', '--namespace=envoy-initializer', '--for=jsonpath={.status.replicas}=1'],
      ...['deployment/envoy-initializer', '--timeout=60s'],
    ]);
    expect(code).toBe(0);
  });

  test('of dev leave out what runs in the cluster', async () => {
    const { stdout } = await controlPlane.kubectl(['kustomize', join(deploy, 'overlays/dev')]);
    const kinds = [...stdout.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind);
    expect(kinds).toContain('MutatingWebhookConfiguration');
    expect(kinds).not.toContain('Deployment');
    expect(kinds).not.toContain('Service');
  });
});

describe('the examples', () => {
  const files = readdirSync(join(deploy, 'examples')).filter(
    (file) => file.endsWith('.yaml') && !file.startsWith('bad-'),
  );
  // The pods that opt in wait for the operator: the webhook is there and answers nobody.
  const accepted = files.filter((file) => !file.startsWith('myapp-pod') || file === 'myapp-pod-plain.yaml');

  test.each(accepted)('%s is accepted', async (file) => {
    const { code, stderr } = await apply('-f', join(deploy, 'examples', file));
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringMatching(/error/i) });
  });

  test('bad-network.yaml is refused, by the name of its fault', async () => {
    const { code, stderr } = await apply('-f', join(deploy, 'examples/bad-network.yaml'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/spec\.gateway.*must be inside spec\.cidr/);
  });
});
