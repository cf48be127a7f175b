import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { startControlPlane } from '../env/control-plane/start.ts';

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

/** kubectl in the namespace default; what it printed. */
async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await controlPlane.kubectl(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

async function untilCounted(name: string, keys: number): Promise<void> {
  const condition = `--for=jsonpath={.metadata.annotations.example\\.com/keys}=${keys}`;
  await kubectl('wait', condition, `configmap/${name}`, '--timeout=60s');
}

test('the example controller counts, counts again what changed or was tampered with, and ends when told to', async () => {
  await kubectl('create', 'configmap', 'before', '--from-literal=a=1');
  await kubectl('label', 'configmap', 'before', 'count-keys=');
  const example = spawn(process.execPath, [join(projectDirectory(), 'docs/examples/key-counter.ts')], {
    env: { ...process.env, NODE_OPTIONS: '', KUBECONFIG: controlPlane.kubeconfigPath },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(example, 'exit');
  await untilCounted('before', 1);
  await kubectl('patch', 'configmap', 'before', '--type=merge', '-p', '{"data":{"b":"2"}}');
  await untilCounted('before', 2);
  await kubectl('annotate', 'configmap', 'before', '--overwrite', 'example.com/keys=9');
  await untilCounted('before', 2);
  await controlPlane.restartApiServer();
  await kubectl('patch', 'configmap', 'before', '--type=merge', '-p', '{"data":{"c":"3"}}');
  await untilCounted('before', 3);
  example.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});
