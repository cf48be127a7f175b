import { expect, test } from '@jest/globals';
import { type Column, type OutputFormat, printOutput } from '../../../../src/cli/io/output.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';

interface Row {
  readonly name: string;
  readonly node: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { name: 'NAME', of: ({ name }) => name },
  { name: 'NODE', of: ({ node }) => node, isWide: true },
];
const ROWS: readonly Row[] = [{ name: 'web-0', node: 'a' }];

function printed(format: OutputFormat, rows = ROWS, paint = (_: string, text: string) => text): string {
  const terminal = Object.assign(new MemoryTerminal(), { paint });
  printOutput(terminal, format, {
    value: rows.map((row) => ({ ...row })),
    lines: ['  ! stale-pod: recreate it', 'a.yaml:1:1: warning: b', 'fine'],
    list: { rows, columns: COLUMNS, nameOf: ({ name }) => `pod/${name}`, summary: '1 pod' },
  });
  return terminal.stdout;
}

test.each<[OutputFormat, string]>([
  ['table', 'NAME\nweb-0\n1 pod\n'],
  ['wide', 'NAME    NODE\nweb-0   a\n1 pod\n'],
  ['name', 'pod/web-0\n'],
  ['json', '[\n  {\n    "name": "web-0",\n    "node": "a"\n  }\n]\n'],
  ['yaml', '- name: web-0\n  node: a\n'],
])('-o %s', (format, expected) => {
  expect(printed(format)).toBe(expected);
});

test('a table has no commands for the terminal', () => {
  const rows = [{ name: 'web\u001b[2J', node: 'a\u009b31m' }];
  expect(printed('wide', rows)).toBe('NAME      NODE\nweb\uFFFD[2J   a\uFFFD31m\n1 pod\n');
  expect(printed('name', rows)).toBe('pod/web\uFFFD[2J\n');
});

test('findings are red and warnings are yellow', () => {
  expect(printed('text', ROWS, (color, text) => `<${color}>${text}`)).toBe(
    '<red>  ! stale-pod: recreate it\n<yellow>a.yaml:1:1: warning: b\nfine\n',
  );
});
