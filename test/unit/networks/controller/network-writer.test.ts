import { expect, test } from '@jest/globals';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import { NetworkWriter, StaleCopyError } from '../../../../src/networks/controller/network-writer.ts';
import { newNetwork } from '../networks.ts';

test.each([
  ['another client was faster', apiErrorFrom(422, { details: {} }), true],
  ['a policy denies it', apiErrorFrom(422, { details: { kind: 'networks' } }), false],
  ['a webhook denies it', apiErrorFrom(409, { message: 'admission webhook "a" denied the request' }), false],
])('a finalizer stays: %s', async (_, error, isStale) => {
  const fail = () => Promise.reject(error);
  const client = { mergePatch: fail, jsonPatch: fail, apply: fail };
  const writer = new NetworkWriter({ client, copies: { add: (each: unknown) => each } as never });
  const failure = await writer.removeFinalizer(newNetwork(), AbortSignal.timeout(1000)).catch((err) => err);
  expect(failure instanceof StaleCopyError).toBe(isStale);
  expect(isStale ? failure.cause : failure).toBe(error);
});
