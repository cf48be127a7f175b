import { expect, test } from '@jest/globals';
import { ADD_ONS } from '../../../src/addons/index.ts';
import { commandsWith } from '../../../src/cli/program.ts';
import { runCli } from '../../../src/program.ts';
import { optionsOf } from '../../support/cli/command-options.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { documents } from '../../support/jest/markdown.ts';

const COMMANDS = commandsWith(ADD_ONS);

async function helpOf(name: string, program = 'envoy-initializer'): Promise<string> {
  const terminal = new MemoryTerminal();
  expect(await runCli(['node', `/usr/bin/${program}`, name, '--help'], terminal)).toBe(0);
  return terminal.stdout;
}

const page = documents().find(({ path }) => path === 'docs/cli.md')?.text ?? '';

test.each(COMMANDS)('$name --help ends with examples and its section of docs/cli.md', async (entry) => {
  const help = await helpOf(entry.name);
  expect(entry.examples.length).toBeGreaterThan(0);
  for (const example of entry.examples) expect(help).toContain(`\n  envoy-initializer ${example}\n`);
  expect(help.trimEnd()).toMatch(new RegExp(`docs/cli\\.md#${entry.name}$`));
  expect(page).toMatch(new RegExp(`^## ${entry.name}$`, 'm'));
});

test.each(COMMANDS)('the examples of $name have flags that it has', ({ name, examples }) => {
  const flags = examples.flatMap((example) => {
    const [own = ''] = example.split(' | ');
    expect(own.split(' ')[0]).toBe(name);
    return own.split(' ').filter((word) => /^--?[a-zA-Z]/.test(word));
  });
  expect(flags.filter((flag) => !optionsOf(name)?.includes(flag))).toEqual([]);
});

test('kubectl-envoy calls itself kubectl envoy', async () => {
  const help = await helpOf('drift', 'kubectl-envoy');
  expect(help).toMatch(/^Usage: kubectl envoy drift /);
  expect(help).toContain('\n  kubectl envoy drift -A\n');
  expect(await helpOf('uninject', 'kubectl-envoy')).not.toContain('envoy-initializer inject');
});
