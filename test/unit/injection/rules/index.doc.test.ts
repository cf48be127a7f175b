import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { RULES } from '../../../../src/injection/rules/index.ts';

const text = readFileSync('docs/reasons.md', 'utf8');

test('docs/reasons.md has a section for each reason, in the order of the rules', () => {
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(RULES.map(({ reason }) => reason));
});
