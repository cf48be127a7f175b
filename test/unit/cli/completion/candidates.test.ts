import { expect, test } from '@jest/globals';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

/** The words that are offered for the last one, and whether a shell offers file names instead. */
async function offered(words: readonly string[], program = 'envoy-initializer') {
  const terminal = new MemoryTerminal();
  const complete = program === 'envoy-initializer' ? ['__complete'] : [];
  await runCli(['node', `/usr/bin/${program}`, ...complete, ...words], terminal);
  const lines = terminal.stdout.trimEnd().split('\n');
  return { words: lines.slice(0, -1).map((line) => line.split('\t')[0]), files: lines.at(-1) === ':0' };
}

test.each<[readonly string[], readonly string[]]>([
  [['li'], ['lint']],
  [['-n', 'shop', 'dr'], ['drift']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish', 'powershell'],
  ],
  [['rollout', '--watch', 'pa'], ['pause']],
  [
    ['drift', '-o', ''],
    ['table', 'wide', 'name', 'json', 'yaml'],
  ],
  [['drift', '--output', 'j'], ['json']],
  [['drift', '--output=j'], ['--output=json']],
  [
    ['check', '--pre', '--overlay', 'ne'],
    ['networks', 'neutron-pods'],
  ],
  [['drift', '--sel'], ['--selector']],
  [['--ver'], ['--version']],
])('%j', async (words, expected) => {
  expect(await offered(words)).toEqual({ words: expected, files: false });
});

test('bash has = as a word', async () => {
  expect((await offered(['drift', '--output', '=', 'j'])).words).toEqual(['json']);
  expect((await offered(['drift', '--output', '='])).words).toContain('json');
});

test.each([[['lint', '']], [['inject', '-f', '']], [['drift', '-n', 'we']], [['nothing', 'x']]])(
  '%j leaves it to the shell, which offers file names',
  async (words) => {
    expect(await offered(words)).toEqual({ words: [], files: true });
  },
);

test('all commands and the flags of one are offered, with their help', async () => {
  expect((await offered([''])).words).toEqual(expect.arrayContaining(['serve', 'check', 'help']));
  expect((await offered(['check', '-'])).words).toEqual(
    expect.arrayContaining(['--context', '--output', '--help']),
  );
  const terminal = new MemoryTerminal();
  await runCli(['node', 'envoy-initializer', '__complete', 'li'], terminal);
  expect(terminal.stdout).toBe('lint\tfind problems in templates\n:4\n');
});

test('kubectl_complete-envoy is for kubectl', async () => {
  expect((await offered(['uninj'], 'kubectl_complete-envoy')).words).toEqual(['uninject']);
});
