import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { runCli } from '../../../src/program.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { must } from '../../env/operator.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { since } from '../../support/jest/since.ts';

/** Kubernetes has these policies since 1.36. */
const { describe, test } = since(36);

const KEY = 'initializer.kubernetes.io/envoy';

let controlPlane: ControlPlane;
let count = 0;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  const template = await readFile(join(projectDirectory(), 'deploy/examples/template.yaml'), 'utf8');
  const terminal = new MemoryTerminal({ 'template.yaml': template });
  await runCli(['node', 'envoy-initializer', 'policy', '-f', 'template.yaml'], terminal);
  await must(controlPlane, ['apply', '-f', '-'], terminal.stdout);
  if (controlPlane.hasControllerManager)
    await must(controlPlane, ['wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  await eventually('all of it is in effect', async () => {
    const [asks, wants] = [
      await create({ [KEY]: 'true' }),
      await create({ [KEY]: 'true', [`${KEY}-image`]: 'i' }),
    ];
    return asks.names.includes('envoy') && wants.warning !== '';
  });
});

afterAll(() => controlPlane?.stop());

async function create(annotations: Record<string, string>, spec: object = {}) {
  count += 1;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${count}`, annotations },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  };
  const { stdout, stderr } = await must(
    controlPlane,
    ['create', '--dry-run=server', '-o', 'json', '-f', '-'],
    JSON.stringify(pod),
  );
  const names = JSON.parse(stdout).spec.containers.map(({ name }: { name: string }) => name);
  return { names: names.join(' '), warning: stderr.trim() };
}

describe('with a template applied as policies, and no operator', () => {
  test('a pod that asks for its sidecar has it', async () => {
    expect(await create({ [KEY]: 'true' })).toEqual({ names: 'app envoy', warning: '' });
  });

  test('a pod that does not is left alone', async () => {
    expect(await create({})).toEqual({ names: 'app', warning: '' });
    expect(await create({ [KEY]: 'false' })).toEqual({ names: 'app', warning: '' });
  });

  test('a value that is neither true nor false is warned of', async () => {
    const { names, warning } = await create({ [KEY]: 'True' });
    expect(names).toBe('app');
    expect(warning).toMatch(
      /: initializer.kubernetes.io\/envoy of the pod is "True": write "true" or "false"$/,
    );
  });

  test.each<[string, Record<string, string>, object]>([
    ['wants an image of its own', { [`${KEY}-image`]: 'mine' }, {}],
    ['has such a volume', {}, { volumes: [{ name: 'envoy-conf', emptyDir: {} }] }],
    ['is on the network of its host', {}, { hostNetwork: true }],
  ])(
    'whoever makes a pod that asks for its sidecar and %s is told that it has none',
    async (_, more, spec) => {
      const { names, warning } = await create({ [KEY]: 'true', ...more }, spec);
      expect(names).toBe('app');
      expect(warning).toMatch(/^Warning: .*: no sidecar: without a webhook, /);
    },
  );
});
