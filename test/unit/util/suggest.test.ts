import { expect, test } from '@jest/globals';
import { suggest } from '../../../src/util/suggest.ts';

test.each([
  ['imag', ['name', 'image'], 'image'],
  ['IMAGE', ['image'], 'image'],
  ['imgae', ['image'], 'image'],
  ['emagi', ['image'], undefined],
  ['a', ['b'], 'b'],
  ['ports', ['image', 'name'], undefined],
  ['x', [], undefined],
])('for %s and the known names %j suggests %s', (written, known, meant) => {
  expect(suggest(written, known)).toBe(meant);
});

test('suggests nothing for a name longer than 64 characters, and never a name of very different length', () => {
  const long = 'x'.repeat(64);
  expect(suggest(`${long}y`, [long])).toBeUndefined();
  expect(suggest(long, [`${long}y`])).toBe(`${long}y`);
  expect(suggest('name', ['x'.repeat(1_000_000)])).toBeUndefined();
});

test('compares only the first 100 names', () => {
  const names = Array.from({ length: 100 }, (_, i) => `unlike-${i}`);
  expect(suggest('wanted', [...names.slice(1), 'wantet'])).toBe('wantet');
  expect(suggest('wanted', [...names, 'wantet'])).toBeUndefined();
});
