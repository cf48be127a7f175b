import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'live-candidates-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('offers no name of a kubeconfig that a shell would read as more than a word', async () => {
  const plain = ['kind-kind', 'user@cluster', 'arn:aws:eks:eu-1:1:cluster/a', 'gke_a_b', ':lead'];
  const others = [
    '$(touch x)',
    '`touch x`',
    'a;b',
    'two words',
    'line\nbreak',
    'e\u001b[31mred',
    "a'b",
    '--all',
    '~a',
    '',
  ];
  const file = join(directory, 'config');
  const contexts = [...plain, ...others].map((name) => ({ name, context: { cluster: 'c', user: 'u' } }));
  const cluster = { server: 'https://127.0.0.1:1' };
  const content = { apiVersion: 'v1', kind: 'Config', clusters: [{ name: 'c', cluster }], contexts };
  await writeFile(file, JSON.stringify({ ...content, users: [{ name: 'u', user: { token: 't' } }] }));
  const terminal = new MemoryTerminal();
  const words = ['--kubeconfig', file, 'check', '--context', ''];
  await runCli(['node', 'kubectl_complete-envoy', ...words], terminal);
  expect(terminal.stdout.trimEnd().split('\n')).toEqual([...plain, ':4']);
});
