import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { SKIP_REASONS } from '../../../src/inject/reason.ts';

const text = readFileSync('docs/reasons.md', 'utf8');

test('docs/reasons.md explains every reason, in the order in which they are looked for', () => {
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  const rows = [...text.matchAll(/^\| \[`([^`]+)`\]\(#([^)]+)\) \|/gm)].map(([, name, link]) => [name, link]);
  expect(headings).toEqual(SKIP_REASONS);
  expect(rows).toEqual(SKIP_REASONS.map((reason) => [reason, reason]));
});
