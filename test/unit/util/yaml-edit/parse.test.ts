import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readManifests } from '../../../../src/util/yaml-edit/manifests.ts';
import { ManifestError } from '../../../../src/util/yaml-edit/parse.ts';

test.each<[string, string, unknown]>([
  ['quoted text', 'a: "b\nc"\n', { a: 'b c' }],
  ['quoted text below a deeper key, with a blank line', 'a:\n    b: "c\n\n  d"\n', { a: { b: 'c\nd' } }],
  [
    'brackets in quotes and comments',
    "a: [ # ]\n\"]\", ']',\nit's]\nb: 1\n",
    { a: [']', ']', "it's"], b: 1 },
  ],
  ['the second document', 'a: "b\n c"\n---\nd: "e\nf"\n', { a: 'b c' }],
  ['no literal block', 'a: |\n  "b\n  {c\nd: [e,\nf]\n', { a: '"b\n{c\n', d: ['e', 'f'] }],
])('a line lacks indentation in %s', (_, text, want) => {
  expect(readManifests(text)[0]).toEqual(want);
});

test.each([
  ['text that is not closed', 'a: "b\nc'],
  ['a list that is not closed', 'a: [b\nc'],
  ['a tab in brackets on the line of their key', 'b: c\na: [\t1]\n d'],
])('%s is refused', (_, text) => {
  expect(() => readManifests(text)).toThrow(ManifestError);
});

test('a value in braces needs no indentation', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom('x:\n    y: ', '- - ', 'x:\n- y: '),
      (value, before) => {
        const json = JSON.stringify([value], null, 1).replaceAll(/^ +/gm, '');
        const [found = null] = readManifests(`${before}${json}\n`);
        const [want = null] = readManifests(`${before}${JSON.stringify([value])}\n`);
        expect(found).toEqual(want);
      },
    ),
  );
});
