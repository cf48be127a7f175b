import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SCRIPTS } from '../../../../src/cli/completion/scripts.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';

const MAIN = join(projectDirectory(), 'build/src/main.js');
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'completion-'));
  const program = join(directory, 'envoy-initializer');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(program, 0o755);
});
afterAll(() => rm(directory, { recursive: true }));

async function bash(script: string): Promise<readonly string[]> {
  const env = { PATH: `${directory}:/usr/bin:/bin` };
  const { code, stdout, stderr } = await runCommand('bash', ['--norc', '-c', script], env, '');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.split('\n').filter(Boolean);
}

test.each([
  [['li'], ['lint']],
  [['drift', '--output', '=', 'ya'], ['yaml']],
  [['drift', '-n', ''], []],
])('bash completes %j', async (words, expected) => {
  const typed = ['envoy-initializer', ...words].map((word) => `'${word}'`).join(' ');
  const script = `source <(envoy-initializer completion bash)
    complete -p envoy-initializer > /dev/null
    COMP_WORDS=(${typed}) COMP_CWORD=${words.length}
    __envoy_initializer
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(await bash(script)).toEqual(expected);
});

test.each(Object.keys(SCRIPTS))('completion %s prints its script', async (shell) => {
  const printed = await bash(`envoy-initializer completion ${shell}`);
  expect(printed.join('\n')).toBe((SCRIPTS[shell] ?? '').trimEnd().replaceAll(/\n+/g, '\n'));
});
