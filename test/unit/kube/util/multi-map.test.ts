import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MultiMap } from '../../../../src/kube/util/multi-map.ts';

test('a key has its values in the order in which they came, each once', () => {
  const map = new MultiMap<string, number>();
  for (const value of [3, 1, 3, 2]) map.add('a', value);
  map.add('b', 4);
  expect([[...map.get('a')], [...map.get('b')], [...map.get('c')]]).toEqual([[3, 1, 2], [4], []]);
});

test('a value is deleted by identity', () => {
  const map = new MultiMap<string, object>();
  const [one, equal] = [{ name: 'a' }, { name: 'a' }];
  map.add('a', one);
  map.delete('a', equal);
  expect([...map.get('a')]).toEqual([one]);
  map.add('a', equal);
  map.delete('a', one);
  const [left, ...others] = map.get('a');
  expect([left === equal, others]).toEqual([true, []]);
});

test('is as a map of sets, after any changes', () => {
  const key = fc.constantFrom('a', 'b');
  const value = fc.constantFrom(0, 1, 2);
  const step = fc.tuple(fc.constantFrom('add' as const, 'delete' as const), key, value);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const map = new MultiMap<string, number>();
      const model = { a: new Set<number>(), b: new Set<number>() };
      for (const [what, of, each] of steps) {
        map[what](of as 'a', each);
        model[of as 'a'][what](each);
        for (const name of ['a', 'b'] as const) {
          expect([...map.get(name)]).toEqual([...model[name]]);
          expect(map.has(name)).toBe(model[name].size > 0);
        }
      }
    }),
  );
});
