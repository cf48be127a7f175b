import { describe, expect, test } from '@jest/globals';
import { keyOf, splitKey, withoutManagedFields } from '../../../src/kube/object.ts';

describe('object keys', () => {
  test.each([
    ['a namespaced object', { namespace: 'shop', name: 'cart' }, 'shop/cart'],
    ['a cluster-scoped object', { name: 'node-1' }, 'node-1'],
  ])('%s has a key that splits into the same parts', (_, metadata, key) => {
    expect(keyOf({ metadata })).toBe(key);
    expect(splitKey(key)).toEqual(metadata);
  });

  test('an empty namespace, as some writers send it, means cluster-scoped', () => {
    expect(keyOf({ metadata: { namespace: '', name: 'node-1' } })).toBe('node-1');
  });

  test.each(['', '/', '/cart', 'shop/', 'shop/cart/extra'])('the key %j is refused', (key) => {
    expect(() => splitKey(key)).toThrow(`bad object key "${key}": expected "namespace/name" or "name"`);
  });
});

test('managed fields are left out of a copy, and nothing else is', () => {
  const object = {
    metadata: { name: 'cart', labels: { app: 'shop' }, managedFields: [{ manager: 'kubectl' }] },
    spec: 1,
  };
  expect(withoutManagedFields(object)).toEqual({
    metadata: { name: 'cart', labels: { app: 'shop' } },
    spec: 1,
  });
  expect(object.metadata.managedFields).toHaveLength(1);
});
