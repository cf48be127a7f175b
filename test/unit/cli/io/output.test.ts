import { expect, test } from '@jest/globals';
import { type Columns, type OutputFormat, printOutput, tableOf } from '../../../../src/cli/io/output.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

interface Row {
  readonly name: string;
  readonly node: string;
}

const COLUMNS: Columns<Row> = {
  NAME: ({ name }) => name,
  NODE: ({ node }) => node,
};
const ROWS: readonly Row[] = [{ name: 'web-0', node: 'a' }];

function printed(format: OutputFormat, rows = ROWS): string {
  const terminal = new MemoryTerminal();
  const value = rows.map((row) => ({ ...row }));
  printOutput(terminal, format, value, [...tableOf(rows, COLUMNS), '1 pod']);
  return terminal.stdout;
}

test.each<[OutputFormat, string]>([
  ['table', 'NAME    NODE\nweb-0   a\n1 pod\n'],
  ['json', '[\n  {\n    "name": "web-0",\n    "node": "a"\n  }\n]\n'],
  ['yaml', '- name: web-0\n  node: a\n'],
])('the output of -o %s is as it is read elsewhere', (format, expected) => {
  expect(printed(format)).toBe(expected);
});

test('a table of the command line has no commands for the terminal', () => {
  const rows = [{ name: 'web\u001b[2J', node: 'a\u009b31m' }];
  expect(printed('table', rows)).toBe('NAME      NODE\nweb\uFFFD[2J   a\uFFFD31m\n1 pod\n');
});
