import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { copying } from '../../../../src/injection/webhook/envoy-configuration.ts';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';

const { signal } = new AbortController();
const source = { metadata: { namespace: 'home', name: 'envoy' }, data: { a: 'b' } };
const keys = keysFor('initializer.kubernetes.io/envoy');
const pod = { metadata: { name: 'a', namespace: 'shop', annotations: { [keys.status]: '{}' } } };

test.each([
  ['exists already', 409, { reason: 'AlreadyExists' }, false],
  ['has no namespace any more', 404, { reason: 'NotFound' }, false],
  ['is denied by a policy', 422, { details: { kind: 'configmaps' } }, true],
  ['is denied by a webhook', 400, { message: 'admission webhook "a" denied the request' }, true],
])('a copy that %s', async (_, status, body, isTriedAgain) => {
  const error = apiErrorFrom(status, body);
  const reconcile = copying({
    client: { create: () => Promise.reject(error), jsonPatch: () => Promise.reject(error) },
    configMaps: { get: (key) => (key === 'home/envoy' ? source : undefined) },
    pods: { list: () => [pod] },
    keys,
    namespace: 'home',
    beforeCreate: async () => undefined,
  });
  const result = await reconcile('shop', signal).catch((err: unknown) => err);
  expect(result).toEqual(isTriedAgain ? error : {});
});
