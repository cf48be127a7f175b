import { expect, test } from '@jest/globals';
import { ownerOperations } from '../../../src/certificates/namespace-owner.ts';
import type { OwnerReference } from '../../../src/kube/api/object.ts';

const namespace = { metadata: { name: 'mesh', uid: 'u2' } };
const ours = { apiVersion: 'v1', kind: 'Namespace', name: 'mesh', uid: 'u2' };
const other = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'mesh', uid: 'x' };

test.each<[string, readonly OwnerReference[] | undefined, readonly OwnerReference[] | undefined]>([
  ['becomes the only owner', undefined, [ours]],
  ['becomes an owner beside others', [other], [other, ours]],
  ['replaces an earlier Namespace of the same name', [{ ...ours, uid: 'u1' }, other], [other, ours]],
  ['stays an owner', [other, ours], undefined],
])('the namespace %s', (_, owners, expected) => {
  const object = { metadata: { name: 'envoy-initializer', ...(owners && { ownerReferences: owners }) } };
  expect(ownerOperations(object, namespace)).toEqual(
    expected ? [{ op: 'add', path: '/metadata/ownerReferences', value: expected }] : [],
  );
});
