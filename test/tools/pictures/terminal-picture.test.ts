import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { terminalPicture } from '../../../hack/pictures/terminal-picture.ts';

const green = (text: string) => `\u001b[32m${text}\u001b[0m`;
const printed = [
  ...['', '▸ First', '  not shown'],
  ...['', '▸ Second', '  <one> & only', ...Array.from({ length: 9 }, (_, i) => `  line ${i}`)],
  `  ${green('✓ it holds')}`,
  `  ${green('y'.repeat(200))}`,
  '',
].join('\n');

test('shows the named chapters with their colours, and cuts long output and long lines', () => {
  const svg = terminalPicture(printed, ['Second']);
  expect(svg).not.toContain('not shown');
  expect(svg).toContain('&lt;one&gt; &amp; only');
  expect(svg).toMatch(/ line 4<.*\n.*…<.*\n.*✓ it holds/);
  expect(svg).toContain(`<tspan fill="#7ee787">${'y'.repeat(101)}…</tspan>`);
});

test('that of the README is not higher than a screen', () => {
  const [, height] = /viewBox="0 0 \d+ (\d+)"/.exec(readFileSync('docs/run.svg', 'utf8')) ?? [];
  expect(Number(height)).toBeLessThanOrEqual(900);
});
