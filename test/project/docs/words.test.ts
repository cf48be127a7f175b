import { expect, test } from '@jest/globals';
import { documents } from '../../support/jest/markdown.ts';

/** What a user reads: README and the pages of docs/, without decisions. */
const pages = documents().filter(({ path }) => /^(README|docs\/[^/]+)\.md$/.test(path));

test('a user has at most 14 pages of 12,000 words to read', () => {
  expect(pages.length).toBeLessThanOrEqual(14);
  const words = pages.map(({ text }) => text.split(/\s+/).filter(Boolean).length);
  expect(words.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(12_000);
});

test.each(pages)('$path has the words of Kubernetes and English, not those of this house', ({ text }) => {
  expect(text.match(/\b(also if|cannot go on|told|a walk|touched|rooms)\b|, too\b/gi) ?? []).toEqual([]);
});
