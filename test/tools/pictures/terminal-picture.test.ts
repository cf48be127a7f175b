import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { terminalPicture } from '../../../hack/pictures/terminal-picture.ts';

const bold = (text: string) => `\u001b[1m${text}\u001b[0m`;
const green = (text: string) => `\u001b[32m${text}\u001b[0m`;

const printed = [
  ...['', bold('▸ First'), '  not shown'],
  ...['', bold('▸ Second'), '  <one> & only', ...Array.from({ length: 9 }, (_, i) => `  line ${i}`)],
  `  ${green('✓ it holds')}`,
  `  ${'x'.repeat(200)}`,
  `  ${green('y'.repeat(200))}`,
  '',
].join('\n');

/** What a reader of the picture sees, line by line. */
const seen = (svg: string) =>
  [...svg.matchAll(/<text.*?>(.*)<\/text>/g)].map(([, text = '']) => text.replaceAll(/<[^>]+>/g, ''));

test('shows the named chapters, and cuts long output and long lines', () => {
  const lines = seen(terminalPicture(printed, ['Second']));
  expect(lines.slice(0, 2)).toEqual(['▸ Second', '  &lt;one&gt; &amp; only']);
  expect(lines.slice(7, 10)).toEqual(['  line 5', '  …', '  ✓ it holds']);
  expect(lines.at(10)).toBe(`  ${'x'.repeat(101)}…`);
});

test('keeps the colours', () => {
  const svg = terminalPicture(printed, ['Second']);
  expect(svg).toContain('<tspan font-weight="bold" fill="#ffffff">▸ Second</tspan>');
  expect(svg).toContain('<tspan fill="#7ee787">✓ it holds</tspan>');
  expect(svg).toContain(`<tspan fill="#7ee787">${'y'.repeat(101)}…</tspan>`);
});

test('names a missing chapter', () => {
  expect(() => terminalPicture(printed, ['Third'])).toThrow('expected a chapter ▸ Third');
});

test('that of the README is not higher than a screen', () => {
  const [, height] = /viewBox="0 0 \d+ (\d+)"/.exec(readFileSync('docs/run.svg', 'utf8')) ?? [];
  expect(Number(height)).toBeLessThanOrEqual(900);
});
