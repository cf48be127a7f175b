import { describe, expect, test } from '@jest/globals';
import { identityOf, keyOf, splitKey } from '../../../../src/kube/api/object.ts';

describe('object keys', () => {
  test.each([
    ['a namespaced object', { namespace: 'shop', name: 'cart' }, 'shop/cart'],
    ['a cluster-scoped object', { name: 'node-1' }, 'node-1'],
  ])('%s has a key that splits into the same parts', (_, metadata, key) => {
    expect(keyOf({ metadata })).toBe(key);
    expect(splitKey(key)).toEqual(metadata);
  });

  test.each(['', '/', '/cart', 'shop/', 'shop/cart/extra'])('the key %j is refused', (key) => {
    expect(() => splitKey(key)).toThrow(`bad object key "${key}": expected "namespace/name" or "name"`);
  });
});

describe('the identity of an object', () => {
  test('keeps only the metadata that a cache needs', () => {
    const identity = { name: 'cart', namespace: 'shop', uid: 'u', resourceVersion: '7' };
    const more = {
      labels: { app: 'shop' },
      annotations: { a: 'b' },
      managedFields: [{}],
      finalizers: ['a/b'],
    };
    expect(identityOf({ metadata: { ...identity, ...more } })).toEqual(identity);
  });
});
