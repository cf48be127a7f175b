import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { locationsIn } from '../../../src/util/diagnostic.ts';
import { finder } from '../../../src/util/finder.ts';
import { type JsonValue, own } from '../../../src/util/json.ts';
import { misfit } from '../../../src/util/shape.ts';
import { suggest } from '../../../src/util/suggest.ts';
import { parseYaml } from '../../../src/util/yaml.ts';

test('locationsIn returns the line and column of each offset, both counted from 1', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\n', '\r'), maxLength: 30 }), (text) => {
      const locationOf = locationsIn(text);
      for (let offset = 0; offset <= text.length; offset++) {
        const lines = text.slice(0, offset).split('\n');
        expect(locationOf(offset)).toEqual({ line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 });
      }
    }),
  );
});

const items = fc.array(fc.record({ key: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }) }), {
  maxLength: 40,
});

test('finder returns the first item with a key, as a linear search does, for lists of any length', () => {
  fc.assert(
    fc.property(items, (list) => {
      const find = finder(list, ({ key }) => key);
      for (const key of ['a', 'b', 'c', 'd', undefined]) {
        expect(find(key)).toBe(list.find((item) => item.key === key));
      }
    }),
  );
});

test.each<[string, string, JsonValue | undefined]>([
  ['{"a":1}', 'a', 1],
  ['{"a":null}', 'a', null],
  ['{"a":1}', 'b', undefined],
  ['{}', 'constructor', undefined],
  ['{}', 'toString', undefined],
  ['{}', '__proto__', undefined],
  ['{"constructor":"mine"}', 'constructor', 'mine'],
  ['{"__proto__":{"a":1}}', '__proto__', { a: 1 }],
  ['[1]', 'length', undefined],
  ['"text"', 'length', undefined],
  ['null', 'a', undefined],
])('own returns from %s only its own %s', (text, key, value) => {
  expect(own(JSON.parse(text), key)).toEqual(value);
});

const SHAPE = {
  rules: [{ name: 'string', 'weight?': 'number', 'kind?': 'A|B' }],
  'open?': 'boolean',
} as const;

test.each<[unknown, string | undefined]>([
  [{ rules: [] }, undefined],
  [{ rules: [{ name: 'a', weight: 1, other: {} }], open: false }, undefined],
  [{}, 'spec.rules: expected an array'],
  [{ rules: {} }, 'spec.rules: expected an array'],
  [{ rules: [{ name: 'a' }, { weight: 1 }] }, 'spec.rules[1].name: expected a string'],
  [{ rules: [{ name: 'a', weight: null }] }, 'spec.rules[0].weight: expected a number'],
  [{ rules: [{ name: 'a', kind: 1 }] }, 'spec.rules[0].kind: expected a string'],
  [{ rules: [null] }, 'spec.rules[0]: expected an object'],
  [{ rules: [], open: 'yes' }, 'spec.open: expected a boolean'],
  [[], 'spec: expected an object'],
  [null, 'spec: expected an object'],
])('misfit says where %j does not fit: %s', (value, expected) => {
  expect(misfit(value, SHAPE, 'spec')).toBe(expected);
});

test.each([
  ['imag', ['name', 'image'], 'image'],
  ['IMAGE', ['image'], 'image'],
  ['imgae', ['image'], 'image'],
  ['emagi', ['image'], undefined],
  ['a', ['b'], 'b'],
  ['ports', ['image', 'name'], undefined],
  ['x', [], undefined],
])('suggest for %s and the known names %j returns %s', (written, known, meant) => {
  expect(suggest(written, known)).toBe(meant);
});

test('suggest returns nothing for more than 64 characters, and no name of very different length', () => {
  const long = 'x'.repeat(64);
  expect(suggest(`${long}y`, [long])).toBeUndefined();
  expect(suggest(long, [`${long}y`])).toBe(`${long}y`);
  expect(suggest('name', ['x'.repeat(1_000_000)])).toBeUndefined();
});

test('suggest compares only the first 100 names', () => {
  const names = Array.from({ length: 100 }, (_, i) => `unlike-${i}`);
  expect(suggest('wanted', [...names.slice(1), 'wantet'])).toBe('wantet');
  expect(suggest('wanted', [...names, 'wantet'])).toBeUndefined();
});

test('parseYaml says that a bracket is missing, at the line after it', () => {
  expect(parseYaml('args: [a,\n  b\ncommand: [c]\n')).toMatchObject({
    error: 'invalid YAML: a ] or } is missing before this line, or the line needs more indentation',
    location: { line: 3 },
  });
});
