import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '../../../src/util/json.ts';
import { printBlock } from '../../../src/util/manifests/kubectl-schema.ts';
import { ManifestError, readManifests } from '../../../src/util/manifests/parse.ts';

// Each was read by kubectl 1.36 (`kubectl label --local -o json`).
test.each<[string, JsonValue]>([
  ['yes', true],
  ['y', true],
  ['On', true],
  ['TRUE', true],
  ['N', false],
  ['off', false],
  ['0644', 420],
  ['0o17', 15],
  ['00', 0],
  ['089', 89],
  ['0x1F', 31],
  ['-0x1F', -31],
  ['0b11', 3],
  ['1_000', 1000],
  ['1e3', 1000],
  ['1e+3', 1000],
  ['.5', 0.5],
  ['1.', 1],
  ['+5', 5],
  ['0777777777777777777777777', 7.777777777777778e23],
  ['99999999999999999999999', 1e23],
  ['~', null],
  ['Null', null],
  ['', null],
  ['1:30', '1:30'],
  ['2020-01-01', '2020-01-01'],
  ['=', '='],
  ['!!str 5', '5'],
  ['"yes"', 'yes'],
  ["'0644'", '0644'],
])('readManifests reads the scalar %s as kubectl does', (text, value) => {
  expect(readManifests(`key: ${text}\n`)).toEqual([{ key: value }]);
});

test('readManifests reads printed text as text', () => {
  const texts = [
    'yes',
    'N',
    '0644',
    '0o17',
    '089',
    '1e3',
    '1E3',
    '1_0',
    '~',
    'null',
    '',
    '.5',
    ' a',
    '# x',
    '*a',
    'a: b',
  ];
  const odd = fc.oneof(fc.constantFrom(...texts), fc.string());
  fc.assert(
    fc.property(fc.dictionary(odd, odd), (strings) => {
      expect(readManifests(printBlock(strings, false))).toEqual([strings]);
    }),
  );
});

// biome-ignore format: a line for each case
test.each<[string, string, readonly unknown[]]>([
  ['the last of keys that are given twice', 'a: {b: 1}\nc: 1\na: {d: 2}\n', [{ a: { d: 2 }, c: 1 }]],
  ['a merge over the keys before it', 'a: &a {b: 1, c: 1}\nd: {b: 2, <<: *a, c: 2}\n', [{ a: { b: 1, c: 1 }, d: { b: 1, c: 2 } }]],
  ['the first of several merges', 'a: [&a {b: 1}, &c {b: 2}]\nd: {<<: [*a, *c]}\n', [{ a: [{ b: 1 }, { b: 2 }], d: { b: 1 } }]],
  ['bytes as text', 'a: !!binary aMOp\n', [{ a: 'hé' }]],
  ['tags of its own', 'a: !x 5\nb: !x {c: 1}\nd: !<tag:e.com,2000:x> [1]\n', [{ a: '5', b: { c: 1 }, d: [1] }]],
  ['the key __proto__', '__proto__: 1\n', [JSON.parse('{"__proto__": 1}')]],
  ['half a character', '"a": "\\ud83d"\n', [{ a: '\ufffd' }]],
  ['a number that is none for Go', 'a: 1e400\n', [{ a: '1e400' }]],
])('readManifests reads %s as kubectl does', (_, text, want) => {
  expect(readManifests(text)).toEqual(want);
});

test('readManifests names the place of a mistake in the text as it is', () => {
  const text = 'a: {\nc: 1 }\nb: {"c": [}\n';
  expect(() => readManifests(text)).toThrow(expect.objectContaining({ location: { line: 3, column: 11 } }));
});

test.each<[string, string, RegExp, object | undefined]>([
  ['that is not YAML', 'a: 1\nb: [\n', /./, { line: 3, column: 1 }],
  ['whose alias contains itself', 'a: &a [*a]\n', /contains itself/, undefined],
  [
    'whose aliases make it huge',
    `a0: &a0 [x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(8)}]\n`).join('')}`,
    /more than 5000000 values/,
    undefined,
  ],
])('readManifests refuses a text %s', (_, text, message, location) => {
  let thrown: unknown;
  try {
    readManifests(text);
  } catch (err) {
    thrown = err;
  }
  expect(thrown).toBeInstanceOf(ManifestError);
  expect(thrown).toMatchObject({ message: expect.stringMatching(message), location });
});

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
])('readManifests says that a line lacks indentation in %s', (_, text, want) => {
  expect(readManifests(text)[0]).toEqual(want);
});

test.each([
  ['text that is not closed', 'a: "b\nc'],
  ['a list that is not closed', 'a: [b\nc'],
  ['a tab in brackets on the line of their key', 'b: c\na: [\t1]\n d'],
])('readManifests refuses %s', (_, text) => {
  expect(() => readManifests(text)).toThrow(ManifestError);
});

test('readManifests needs no indentation for a value in braces', () => {
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
