import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { writeManifests } from '../../../../src/addons/manifests/yaml/write.ts';
import { isObject, type JsonObject, type JsonValue, own } from '../../../../src/util/json.ts';
import { readManifests } from '../../../../src/util/manifests/parse.ts';

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

test('writeManifests changes the last of keys that are given twice', () => {
  expect(writeManifests('a: 1\nb: 2\na: 3 # last\n', [{ a: 4, b: 2 }])).toBe('a: 1\nb: 2\na: 4 # last\n');
  expect(writeManifests('a: 1\nb: 2\na: 3 # last\n', [{ b: 2 }])).toBe('b: 2\n');
});
