import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { MutationCache } from '../../../../src/kube/cache/mutation-cache.ts';
import { Store } from '../../../../src/kube/cache/store.ts';

const version = (resourceVersion: string, uid = 'u'): KubeObject => ({
  metadata: { namespace: 'default', name: 'a', uid, resourceVersion },
});

function newCopies() {
  const cache = new Store<KubeObject>();
  return { cache, copies: new MutationCache(cache) };
}

test('MutationCache reads a written object until the cache has it', () => {
  const { cache, copies } = newCopies();
  cache.set(version('9'));
  copies.add(version('10'));
  expect(copies.get('default/a')).toEqual(version('10'));
  cache.set(version('10'));
  expect(copies.get('default/a')).toEqual(version('10'));
});

test('MutationCache reads a later write of another client, and drops its own', () => {
  const { cache, copies } = newCopies();
  cache.set(version('9'));
  copies.add(version('10'));
  cache.set(version('11'));
  expect(copies.get('default/a')).toEqual(version('11'));
  // A cache that went back in time, as after a restore of etcd, is not overruled forever.
  cache.set(version('9'));
  expect(copies.get('default/a')).toEqual(version('9'));
});

test('MutationCache has no object whose last finalizer was removed, even if the cache has that version', () => {
  const { cache, copies } = newCopies();
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const before = { metadata: { ...version('9').metadata, deletionTimestamp, finalizers: ['ours'] } };
  cache.set(before);
  copies.add({ metadata: { ...before.metadata, finalizers: [] } });
  expect(copies.get('default/a')?.metadata.finalizers).toEqual([]);
  cache.set(version('12', 'created again'));
  expect(copies.get('default/a')?.metadata.uid).toBe('created again');
});

test('MutationCache reads an object that was created again under the name as soon as either has it', () => {
  const { cache, copies } = newCopies();
  cache.set(version('9', 'old'));
  copies.add(version('12', 'new'));
  expect(copies.get('default/a')?.metadata.uid).toBe('new');
  cache.set(version('15', 'newest'));
  expect(copies.get('default/a')?.metadata.uid).toBe('newest');
});

test('MutationCache has no object that the cache has deleted, even if it was written', () => {
  const { copies } = newCopies();
  copies.add(version('10'));
  expect(copies.get('default/a')).toBeUndefined();
});

test('MutationCache compares resource versions as numbers of any length', () => {
  const { cache, copies } = newCopies();
  cache.set(version('99999999999999999999'));
  copies.add(version('100000000000000000000'));
  expect(copies.get('default/a')).toEqual(version('100000000000000000000'));
});

test('MutationCache drops a written object once the cache has it, whichever comes first', () => {
  const { cache, copies } = newCopies();
  cache.set(version('9'));
  copies.add(version('10'));
  copies.settle('default/a');
  expect(copies.held).toBe(1);
  cache.set(version('10'));
  copies.settle('default/a');
  expect(copies.held).toBe(0);
  copies.add(version('10'));
  expect(copies.held).toBe(0);
});
