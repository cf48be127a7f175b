import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isObject, type JsonArray, type JsonValue, ownString, sameJson } from '../../../../src/util/json.ts';
import { align } from '../../../../src/util/yaml-edit/align.ts';

/** The same as `align`, by a linear search for each item. */
function aligned(before: JsonArray, after: JsonArray): readonly (number | undefined)[] {
  let next = 0;
  return after.map((value) => {
    const found = before.findIndex((item, i) => i >= next && isLike(item, value, i === next));
    if (found === -1) return undefined;
    next = found + 1;
    return found;
  });
}

function isLike(item: JsonValue, value: JsonValue, isNext: boolean): boolean {
  if (sameJson(item, value)) return true;
  const name = ownString(value, 'name');
  return (
    isObject(item) && isObject(value) && ownString(item, 'name') === name && (name !== undefined || isNext)
  );
}

const item = fc.oneof(
  fc.constantFrom<JsonValue>(0, 1, 'a', null, [], [1]),
  fc.record(
    { name: fc.constantFrom('a', 'b', 'c'), value: fc.constantFrom(1, 2) },
    { requiredKeys: [] },
  ) as fc.Arbitrary<JsonValue>,
);

test('align finds an item by content or name, and never before an earlier one', () => {
  const lists = fc.array(item, { maxLength: 8 }).chain((before) =>
    fc.tuple(
      fc.constant(before),
      // Items of the list, copies of them, and others.
      fc.array(
        fc.oneof(
          item,
          ...before.map((each) => fc.constant(each)),
          ...before.map((each) => fc.constant(structuredClone(each))),
        ),
        { maxLength: 8 },
      ),
    ),
  );
  fc.assert(
    fc.property(lists, ([before, after]) => {
      expect(align(before, after)).toEqual(aligned(before, after));
    }),
    { numRuns: 500 },
  );
});
