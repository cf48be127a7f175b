import { expect, test } from '@jest/globals';
import { ownConfigurations, ownerOperations } from '../../../src/certificates/configurations.ts';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../../src/kube/api/core-resources.ts';
import type { OwnerReference } from '../../../src/kube/api/object.ts';
import { capturedLog } from '../../support/kube/captured-log.ts';

const namespace = { metadata: { name: 'mesh', uid: 'u2' } };
const ours = { apiVersion: 'v1', kind: 'Namespace', name: 'mesh', uid: 'u2' };
const other = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'mesh', uid: 'x' };

test.each<[string, readonly OwnerReference[] | undefined, readonly OwnerReference[] | undefined]>([
  ['becomes the only owner', undefined, [ours]],
  ['becomes an owner beside others', [other], [other, ours]],
  ['replaces an earlier Namespace of the same name', [{ ...ours, uid: 'u1' }, other], [other, ours]],
  ['stays an owner', [other, ours], undefined],
])('the namespace %s of the webhooks', (_, owners, expected) => {
  const object = { metadata: { name: 'envoy-initializer', ...(owners && { ownerReferences: owners }) } };
  expect(ownerOperations(object, namespace)).toEqual(
    expected ? [{ op: 'add', path: '/metadata/ownerReferences', value: expected }] : [],
  );
});

test('the namespace becomes no owner, with a warning, where the operator has no right to it', async () => {
  const { log, lines } = capturedLog();
  const refused = async () => {
    throw new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
  };
  const configuration = { metadata: { name: 'envoy-initializer' } };
  const seen = [{ resource: MUTATING_WEBHOOK_CONFIGURATIONS, configuration }];
  const client = { get: refused, jsonPatch: refused };
  await ownConfigurations(client, log, 'mesh', seen, new AbortController().signal);
  expect(lines).toMatchObject([
    { msg: expect.stringContaining('cannot make the namespace own the webhook configurations') },
  ]);
});
