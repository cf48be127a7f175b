import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';
import { eventually } from '../../../env/eventually.ts';

const MAIN = join(projectDirectory(), 'build/src/main.js');
const ARGS = [MAIN, 'lint', '--envoy', join(projectDirectory(), 'deploy/envoy/envoy.json')];
let directory: string;
let env: Readonly<Record<string, string>>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'envoy-binary-'));
  const TMPDIR = join(directory, 'tmp');
  await mkdir(TMPDIR);
  env = { PATH: [directory, process.env.PATH ?? ''].join(delimiter), TMPDIR };
});
afterEach(() => rm(directory, { recursive: true }));

/** Puts an `envoy` on the PATH that does this instead of a validation. */
async function envoyThat(does: string): Promise<void> {
  const version = 'echo "envoy  version: abc/1.40.0/Clean/RELEASE/BoringSSL"';
  const script = `#!/bin/sh\nif [ "$1" = --version ]; then ${version}; else ${does}; fi\n`;
  await writeFile(join(directory, 'envoy'), script, { mode: 0o755 });
}

test('lint --envoy says in one line that envoy was killed', async () => {
  await envoyThat('kill -9 $$');
  expect(await runCommand(process.execPath, ARGS, env, '')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: cannot validate with the envoy on the PATH: it ended by SIGKILL: run it yourself, or take it off the PATH\n',
  });
});

test('lint --envoy leaves no file after Ctrl-C', async () => {
  const pidFile = join(directory, 'pid');
  await envoyThat(`echo $$ >'${pidFile}'; exec sleep 60`);
  const lint = spawn(process.execPath, ARGS, { env, stdio: 'ignore' });
  const ended = once(lint, 'exit');
  let pid = 0;
  await eventually('envoy runs', async () => {
    pid = Number(await readFile(pidFile, 'utf8').catch(() => '0'));
    return pid > 0;
  });
  expect(await readdir(join(directory, 'tmp'))).toHaveLength(1);
  lint.kill('SIGINT');
  expect(await ended).toEqual([null, 'SIGINT']);
  // A terminal signals all processes.
  process.kill(pid);
  expect(await readdir(join(directory, 'tmp'))).toEqual([]);
});
