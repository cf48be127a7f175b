import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { finder } from '../../../src/util/finder.ts';

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
