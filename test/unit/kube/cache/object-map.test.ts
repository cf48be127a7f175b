import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ObjectMap } from '../../../../src/kube/cache/object-map.ts';

test('holds values by namespace and name, and without a namespace', () => {
  const map = new ObjectMap<number>();
  map.set({ namespace: 'shop', name: 'a' }, 1);
  map.set({ namespace: 'bank', name: 'a' }, 2);
  map.set({ name: 'a' }, 3);
  expect(['shop/a', 'bank/a', 'a', 'shop/b', 'else/a', ''].map((key) => map.get(key))).toEqual([
    1,
    2,
    3,
    ...[undefined, undefined, undefined],
  ]);
  expect(map.keys()).toEqual(['shop/a', 'bank/a', 'a']);
  expect([map.values(), map.values('bank'), map.values('else'), map.values('')]).toEqual([
    [1, 2, 3],
    [2],
    [],
    [3],
  ]);
});

test('is empty after clear', () => {
  const map = new ObjectMap<number>();
  map.set({ namespace: 'shop', name: 'a' }, 1);
  map.clear();
  expect([map.size, map.keys(), map.values(), map.get('shop/a')]).toEqual([0, [], [], undefined]);
});

test('is as a plain map, after any changes', () => {
  const meta = fc.record(
    { namespace: fc.constantFrom('', 'x', '__proto__'), name: fc.constantFrom('a', 'b', 'constructor') },
    { requiredKeys: ['name'] },
  );
  const step = fc.tuple(fc.constantFrom('set', 'delete'), meta, fc.nat());
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const map = new ObjectMap<number>();
      const model = new Map<string, number>();
      for (const [what, { namespace, name }, value] of steps) {
        const key = namespace ? `${namespace}/${name}` : name;
        if (what === 'set') {
          map.set({ name, ...(namespace !== undefined && { namespace }) }, value);
          model.set(key, value);
        } else {
          map.delete(key);
          model.delete(key);
        }
        expect(map.get(key)).toBe(model.get(key));
        expect(map.size).toBe(model.size);
        expect(new Set(map.keys())).toEqual(new Set(model.keys()));
        expect([...map.values()].sort()).toEqual([...model.values()].sort());
      }
    }),
  );
});
