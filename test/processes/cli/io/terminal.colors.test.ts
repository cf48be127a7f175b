import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';

const MAIN = join(projectDirectory(), 'build/src/main.js');
/** A Deployment that opts in at the wrong place, which is a finding. */
const HABIT = JSON.stringify({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels: { 'initializer.kubernetes.io/envoy': 'true' } },
  spec: { template: { spec: { containers: [{ name: 'web', image: 'web' }] } } },
});
const TEMPLATE = join(projectDirectory(), 'deploy/examples/template.yaml');
const RED = '\u001b[31m  ! opt-in-mistake';
let directory: string;
let line: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'colors-'));
  const file = join(directory, 'web.json');
  await writeFile(file, HABIT);
  line = `'${process.execPath}' '${MAIN}' check -f '${file}' --template '${TEMPLATE}'`;
});
afterAll(() => rm(directory, { recursive: true }));

const typed = (command: string, env: Readonly<Record<string, string>>) =>
  runCommand('sh', ['-c', command], { PATH: process.env.PATH ?? '', TERM: 'xterm', ...env }, '');
/** script gives the command a terminal. */
const onTerminal = (env: Readonly<Record<string, string>>) =>
  typed('script --quiet --return --command "$LINE" /dev/null', { LINE: line, ...env });

test.each([[{}], [{ NO_COLOR: '1' }], [{ FORCE_COLOR: '0' }]])(
  'findings have no color in a pipe, with %j',
  async (env) => {
    const { code, stdout } = await typed(line, env);
    expect(code).toBe(1);
    expect(stdout).toContain('  ! opt-in-mistake');
    expect(stdout).not.toContain('\u001b');
  },
);

test('findings are red on a terminal, but not with NO_COLOR or FORCE_COLOR=0', async () => {
  expect((await onTerminal({})).stdout).toContain(RED);
  for (const env of [{ NO_COLOR: '1' }, { FORCE_COLOR: '0' }]) {
    const { stdout } = await onTerminal(env);
    expect(stdout).toContain('  ! opt-in-mistake');
    expect(stdout).not.toContain('\u001b[31m');
  }
});
