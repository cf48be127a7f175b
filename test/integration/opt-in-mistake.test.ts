import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../../src/json/json.ts';
import { podSites } from '../../src/podspec/workload.ts';
import { keysFor } from '../../src/sidecar/keys.ts';
import { optInMistakes } from '../../src/sidecar/opt-in-mistakes.ts';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { startControlPlane } from '../env/control-plane/start.ts';
import { eventually } from '../env/eventually.ts';
import { must } from '../env/operator.ts';

const KEY = 'initializer.kubernetes.io/envoy';
const ON = { [KEY]: 'true' };

let starting: Promise<ControlPlane>;
let controlPlane: ControlPlane;

beforeAll(async () => {
  starting = startControlPlane();
  controlPlane = await starting;
  await must(controlPlane, ['apply', '-f', join(projectDirectory(), 'deploy/base/opt-in-mistake.yaml')]);
  // The API server compiles a policy, and takes note of its binding, a moment later.
  await eventually(
    'the policy warns',
    async () => (await warnings(workload('apps/v1', 'Deployment', ON))) !== '',
  );
});

afterAll(async () => {
  // Also when it was too slow for the test that asked for it.
  await (await starting).stop();
});

/** A workload with these annotations on itself, and these on its pods. */
function workload(apiVersion: string, kind: string, own: JsonObject, pod: JsonObject = {}): JsonObject {
  const labels = { app: 'web' };
  const spec = {
    restartPolicy: apiVersion === 'batch/v1' ? 'Never' : 'Always',
    containers: [{ name: 'a', image: 'a' }],
  };
  const template = { metadata: { labels, annotations: pod }, spec };
  const selector = kind === 'ReplicationController' ? labels : { matchLabels: labels };
  const specs: JsonObject = {
    Job: { template },
    CronJob: { schedule: '@daily', jobTemplate: { spec: { template } } },
    StatefulSet: { selector, template, serviceName: 'web' },
  };
  return {
    apiVersion,
    kind,
    metadata: { name: 'web', namespace: 'default', annotations: own },
    spec: specs[kind] ?? { selector, template },
  };
}

/** What kubectl prints to whoever applies it. */
async function warnings(object: JsonObject): Promise<string> {
  const apply = ['apply', '--dry-run=server', '-f', '-'];
  return (await must(controlPlane, apply, JSON.stringify(object))).stderr;
}

describe('the key on a workload itself', () => {
  test.each([
    ['apps/v1', 'Deployment'],
    ['apps/v1', 'StatefulSet'],
    ['apps/v1', 'DaemonSet'],
    ['batch/v1', 'Job'],
    ['batch/v1', 'CronJob'],
    ['v1', 'ReplicationController'],
  ])('is warned of in the words of check: %s %s', async (apiVersion, kind) => {
    const object = workload(apiVersion, kind, ON);
    const [site] = podSites(object);
    const [mistake] = site ? optInMistakes(site, keysFor()) : [];
    expect(await warnings(object)).toBe(
      `Warning: Validation failed for ValidatingAdmissionPolicy 'envoy-initializer-opt-in' with binding 'envoy-initializer-opt-in': ${mistake}\n`,
    );
  });

  test('is no mistake where the pods have one too, or it is not there', async () => {
    expect(await warnings(workload('apps/v1', 'Deployment', ON, ON))).toBe('');
    expect(await warnings(workload('apps/v1', 'Deployment', {}, ON))).toBe('');
    expect(await warnings(workload('batch/v1', 'CronJob', ON, { [KEY]: 'false' }))).toBe('');
  });
});
