import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { locationsIn } from '../../../src/util/diagnostic.ts';

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
