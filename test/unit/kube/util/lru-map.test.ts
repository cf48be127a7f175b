import { describe, expect, test } from '@jest/globals';

import { LruMap } from '../../../../src/kube/util/lru-map.ts';

describe('a bounded map', () => {
  test('drops the least recently used key, and returns its value', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.get('a');

    expect(map.set('c', 3)).toBe(2);
    expect([...map.entries()]).toEqual([
      ['a', 1],
      ['c', 3],
    ]);
  });

  test('drops nothing for a key that it holds', () => {
    const map = new LruMap<string, number>(1);
    map.set('a', 1);

    expect(map.set('a', 2)).toBeUndefined();
    expect(map.get('a')).toBe(2);
    expect(map.size).toBe(1);
  });

  test('forgets a deleted key', () => {
    const map = new LruMap<string, number>(1);
    map.set('a', 1);
    map.delete('a');

    expect(map.get('a')).toBeUndefined();
  });
});
