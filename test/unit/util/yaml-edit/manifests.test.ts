import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { isObject, type JsonObject, type JsonValue, own } from '../../../../src/util/json.ts';
import { printBlock } from '../../../../src/util/yaml-edit/entries.ts';
import { readManifests, writeManifests } from '../../../../src/util/yaml-edit/manifests.ts';
import { ManifestError } from '../../../../src/util/yaml-edit/parse.ts';

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

const scalars = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.integer(),
  fc.constantFrom(null, 'yes', '0644', 'a: b', 'two\nlines\n', '\n x', 1.5),
);
const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'name', 'ip', 'metadata', 'x y', 'on', '1'), tie('value'), {
      maxKeys: 4,
    }),
  ),
}));
const objects = values.filter(isObject);
const layouts = [
  (value: JsonValue) => dump(value, { noRefs: true }),
  (value: JsonValue) => dump(value, { noRefs: true, indent: 4, lineWidth: 20 }),
  (value: JsonValue) => dump(value, { noRefs: true, seqNoIndent: true }),
  (value: JsonValue) => dump(value, { noRefs: true, flowLevel: 1 }),
  (value: JsonValue) => `${JSON.stringify(value)}\n`,
  (value: JsonValue) => `${JSON.stringify(value, null, 2)}\n`,
  (value: JsonValue) => `${JSON.stringify(value, null, '\t')}\n`,
];

test('writeManifests writes what readManifests reads again, and does not change the other documents', () => {
  const first = '# The first.\nkind:   Kept # here\n---\n';
  const last = '---\n# The last.\nbig: 9007199254740993\n';
  fc.assert(
    fc.property(objects, objects, fc.constantFrom(...layouts), (before, after, layout) => {
      // As kubectl reads it: dump writes for YAML 1.2, where `on` is text.
      const middle = layout(before);
      const [, read = null] = readManifests(first + middle);
      const all = readManifests(first + middle + last);
      const text = writeManifests(first + middle + last, [all[0] ?? null, after, all[2] ?? null]);
      expect(readManifests(text)[1]).toEqual(after);
      expect(text.startsWith(first)).toBe(true);
      expect(text.endsWith(last)).toBe(true);
      expect(writeManifests(first + middle + last, [all[0] ?? null, read, all[2] ?? null])).toBe(
        first + middle + last,
      );
    }),
    { numRuns: 500 },
  );
});

test('writeManifests writes JSON if the text is JSON', () => {
  fc.assert(
    fc.property(objects, objects, fc.constantFrom(undefined, 2, '\t'), (before, after, space) => {
      fc.pre(Object.keys(before).length > 0 && Object.keys(after).length > 0);
      expect(JSON.parse(writeManifests(JSON.stringify(before, null, space), [after]))).toEqual(after);
    }),
  );
});

test('writeManifests keeps comments, order, spelling and numbers that a double cannot hold', () => {
  const text = 'b: 0x10 # hex\na:   9007199254740993\nlist:\n# one\n- "1"\n# two\n- 2 # kept\n';
  const [document = null] = readManifests(text);
  expect(writeManifests(text, [{ ...(document as object), list: ['1', 2, 3], c: 'new' }])).toBe(
    'b: 0x10 # hex\na:   9007199254740993\nlist:\n# one\n- "1"\n# two\n- 2 # kept\n- 3\nc: new\n',
  );
});

test('writeManifests refuses to print a number that a double cannot hold', () => {
  const text = 'a: &x\n  big: 9007199254740993\nb: *x\n';
  const [document = null] = readManifests(text);
  const shared = own(document, 'b') as JsonObject;
  const change = () => writeManifests(text, [{ a: { ...shared, more: 1 }, b: shared }]);
  expect(change).toThrow('9007199254740992 would lose precision: put it in quotes');
});

test('writeManifests refuses to change a document with a key that is missing, and changes the others', () => {
  const text = ': 2\n---\nb: 1\n';
  const [complex = null] = readManifests(text);
  expect(writeManifests(text, [complex, { b: 2 }])).toBe(': 2\n---\nb: 2\n');
  expect(() => writeManifests(text, [{ a: 3 }, { b: 1 }])).toThrow(/document 1 cannot be rewritten/);
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

test('writeManifests changes the last of keys that are given twice', () => {
  expect(writeManifests('a: 1\nb: 2\na: 3 # last\n', [{ a: 4, b: 2 }])).toBe('a: 1\nb: 2\na: 4 # last\n');
  expect(writeManifests('a: 1\nb: 2\na: 3 # last\n', [{ b: 2 }])).toBe('b: 2\n');
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
