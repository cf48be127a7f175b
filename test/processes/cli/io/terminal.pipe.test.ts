import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';

const MAIN = join(projectDirectory(), 'build/src/main.js');
const TEMPLATE = join(projectDirectory(), 'deploy/examples/template.yaml');
/** Each has a line on standard error. Together, they do not fit into a pipe. */
const PODS = Array.from({ length: 3_000 }, (_, i) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${i}`, annotations: { 'initializer.kubernetes.io/envoy': 'true' } },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  }),
).join('\n---\n');
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pipe-'));
  await writeFile(join(directory, 'pods.yaml'), PODS);
});
afterAll(() => rm(directory, { recursive: true }));

test.each([
  ['standard output', '2>/dev/null'],
  ['standard error', '2>&1 >/dev/null'],
])('inject ends quietly when head closes its %s', async (_, redirection) => {
  const inject = `'${process.execPath}' '${MAIN}' inject -f '${directory}/pods.yaml' --template '${TEMPLATE}'`;
  const script = `{ ${inject}; echo $? > '${directory}/code'; } ${redirection} | head -1; cat '${directory}/code'`;
  const { stdout } = await runCommand('sh', ['-c', script], { PATH: process.env.PATH ?? '' }, '');
  expect(stdout.split('\n').slice(1)).toEqual(['0', '']);
});

test('uninject says that the disk for its output is full, and ends with 2', async () => {
  const script = `'${process.execPath}' '${MAIN}' uninject -f '${directory}/pods.yaml' >/dev/full`;
  const { code, stderr } = await runCommand('sh', ['-c', script], { PATH: process.env.PATH ?? '' }, '');
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: cannot write the output: ENOSPC: no space left on device, write\n$/m);
  expect(stderr).not.toContain(' at ');
});
