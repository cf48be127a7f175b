import { expect, test } from '@jest/globals';
import type { Option } from 'commander';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { COMMANDS } from '../../support/cli/command-options.ts';
import { documents } from '../../support/jest/markdown.ts';

const everything = documents()
  .map((document) => document.text)
  .join('\n');

test('make generate has nothing to change in the documents', async () => {
  const result = await runCommand(process.execPath, ['hack/generate-docs.ts', '--check'], {}, '');
  expect(result).toEqual({ code: 0, stdout: '', stderr: '' });
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
