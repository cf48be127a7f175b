import { expect, test } from '@jest/globals';
import type { Command, Option } from 'commander';
import { COMMANDS } from '../../support/command-options.ts';
import { documents, section } from '../../support/markdown.ts';

const text = documents().find(({ path }) => path === 'docs/cli.md')?.text ?? '';
const everything = documents()
  .map((document) => document.text)
  .join('\n');

const code = (value: string | undefined) => (value ? `\`${value}\`` : '');

/** The table of a command's flags, from --help. */
function table(command: Command | undefined): string {
  const rows = (command?.options ?? []).map(
    ({ flags, envVar, defaultValue, defaultValueDescription, description }: Option) => {
      const preset = defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : '');
      // A pipe ends a table cell, even in code.
      const cells = [code(flags.replaceAll('|', '\\|')), code(envVar), code(preset), description];
      return `| ${cells.join(' | ')} |\n`.replaceAll('  |', ' |');
    },
  );
  return ['| flag | variable | default | what for |\n', '|---|---|---|---|\n', ...rows].join('');
}

test.each(['serve', 'node-agent'])('docs/cli.md lists the flags of %s as --help does', (name) => {
  expect(section(text, `## ${name}`)).toContain(table(COMMANDS[name]));
});

test.each(Object.entries(COMMANDS).map(([name, { options }]) => ({ name, options })))(
  'the documents mention each flag of $name',
  ({ options }) => {
    const isSpokenOf = ({ short, long }: Option) =>
      everything.includes(`${long}`) ||
      (short !== undefined && new RegExp(`[\`\\s]${short}\\b`).test(everything));
    expect(options.filter((option) => !isSpokenOf(option)).map(({ flags }) => flags)).toEqual([]);
  },
);
