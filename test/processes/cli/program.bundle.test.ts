import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';

let directory: string;
const run = (args: readonly string[]) =>
  runCommand(process.execPath, args, { PATH: process.env.PATH ?? '' }, '');

beforeAll(async () => {
  // Where there are no packages, as in the image.
  directory = await mkdtemp(join(tmpdir(), 'bundle-'));
  const { code, stderr } = await run([join(projectDirectory(), 'hack/bundle/program.ts'), directory]);
  expect([code, stderr]).toEqual([0, '']);
});

afterAll(() => rm(directory, { recursive: true }));

test('the bundle runs, with the modules of each command', async () => {
  for (const command of ['serve', 'node-agent', 'lint', 'drift']) {
    const { code, stdout } = await run([join(directory, 'main.js'), command, '--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: envoy-initializer ${command}`)]);
  }
});

test('a stack trace names functions, and files and lines of the source where Node has source maps', async () => {
  const args = [join(directory, 'main.js'), 'lint', '/does/not/exist.yaml'];
  const trap = `data:text/javascript,${encodeURIComponent(
    "process.stderr.write = (text) => { console.log(new Error('here').stack); process.exit(0) }",
  )}`;
  const plain = await run(['--import', trap, ...args]);
  expect(plain.stdout).toMatch(/at runProgram .*program\/program-\w+\.js:\d+/);
  const mapped = await run(['--enable-source-maps', '--import', trap, ...args]);
  expect(mapped.stdout).toMatch(/at runProgram .*src\/cli\/program\.ts:\d+/);
});
