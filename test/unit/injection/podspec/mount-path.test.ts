import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { placeOf, UNCLEAN_PATH } from '../../../../src/injection/podspec/mount-path.ts';

test.each([
  ['/conf', '/conf'],
  ['/conf/', '/conf'],
  ['//conf', '/conf'],
  ['/conf/.', '/conf'],
  ['/./conf', '/conf'],
  ['conf', '/conf'],
  ['/a/../conf', '/conf'],
  ['/..', '/'],
  ['/', '/'],
  ['/a/..b/.c/...', '/a/..b/.c/...'],
])('the place of %j is %s', (path, place) => {
  expect(placeOf(path)).toBe(place);
});

test('a place is clean and its own place, and only unclean paths have another', () => {
  const path = fc.array(fc.constantFrom('', '.', '..', 'a', '..b', 'c.'), { maxLength: 6 });
  fc.assert(
    fc.property(path, (segments) => {
      const text = segments.join('/');
      const place = placeOf(text);
      expect(placeOf(place)).toBe(place);
      expect(place === '/' || !new RegExp(UNCLEAN_PATH).test(place)).toBe(true);
      if (text !== '' && !new RegExp(UNCLEAN_PATH).test(text)) expect(place).toBe(text);
    }),
  );
});
