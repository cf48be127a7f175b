import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { execConfig } from '../../../support/kube/exec-config.ts';

test('completion ends, though a credential plugin neither answers nor ends', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hanging-plugin-'));
  const [file, pid] = [join(directory, 'config'), join(directory, 'pid')];
  const script = `process.on('SIGTERM', () => {}); require('node:fs').writeFileSync('${pid}', String(process.pid)); setInterval(() => {}, 1e6)`;
  const { command, args, apiVersion } = execConfig(script);
  const content = {
    'current-context': 'a',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'a', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: { exec: { command, args, apiVersion } } }],
  };
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...content }));
  const main = join(projectDirectory(), 'build/src/main.js');
  const words = ['__complete', '--kubeconfig', file, 'check', '-n', ''];
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...words]);
  expect(stdout).toBe(':0\n');
  // A busy machine may not have started it in time.
  const started = await readFile(pid, 'utf8').catch(() => undefined);
  if (started !== undefined) process.kill(Number(started), 'SIGKILL');
  await rm(directory, { recursive: true });
});
