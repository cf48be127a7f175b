import { expect, test } from '@jest/globals';
import {
  apiErrorFrom,
  asTransportError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
  isOvertaken,
  isRefused,
  isTooLargeResourceVersion,
  TransportError,
} from '../../../../src/kube/api/api-error.ts';
import { identityOf, keyOf, splitKey } from '../../../../src/kube/api/object.ts';
import { failure } from '../../../support/kube/scripted-server.ts';

test('apiErrorFrom takes status, reason, message, causes and wait from a Status body', () => {
  const body = failure(409, {
    reason: 'Conflict',
    message: 'the object has been modified',
    details: { retryAfterSeconds: 2, causes: [{ reason: 'FieldManagerConflict' }, null, {}] },
  });
  expect(apiErrorFrom(409, body)).toMatchObject({
    status: 409,
    reason: 'Conflict',
    message: 'the object has been modified',
    retryAfterMs: 2000,
    causes: ['FieldManagerConflict'],
  });
});

test.each([undefined, '', 'Wed, 21 Oct 2026 07:28:00 GMT', '-1', 'Infinity'])(
  'apiErrorFrom ignores a Retry-After of %j',
  (header) => {
    expect(apiErrorFrom(503, '', header).retryAfterMs).toBeUndefined();
  },
);

test("apiErrorFrom quotes a proxy's error page, cut to a readable length", () => {
  const error = apiErrorFrom(502, `<html>${'x'.repeat(5000)}`);
  expect(error.message).toMatch(/^the API server returned 502: <html>x+$/);
  expect(error.message.length).toBe(1024);
  expect(error.reason).toBe('');
});

const is = {
  isNotFound,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isExpired,
  isTooLargeResourceVersion,
  isNamespaceTerminating,
};
// biome-ignore format: a line for each case
test.each([
  [['isNotFound'], 404, { reason: 'NotFound' }],
  [['isAlreadyExists'], 409, { reason: 'AlreadyExists' }],
  [['isConflict'], 409, { reason: 'Conflict' }],
  [['isInvalid'], 422, { reason: 'Invalid' }],
  [['isInvalid'], 400, { reason: 'BadRequest' }],
  [['isExpired'], 410, { reason: 'Expired' }],
  [['isExpired'], 410, { reason: 'Gone' }],
  [['isExpired'], 410, {}],
  [['isTooLargeResourceVersion'], 504, { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }],
  [['isTooLargeResourceVersion'], 504, { reason: 'Timeout', message: 'Too large resource version: 9, current: 5' }],
  [['isNamespaceTerminating'], 403, { reason: 'Forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } }],
  [[], 504, { reason: 'Timeout' }],
  [[], 403, { reason: 'Forbidden' }],
  [[], 500, { reason: 'InternalError' }],
])('the predicates %j of errors, and no others, hold for %i %j', (expected, code, status) => {
  const error = apiErrorFrom(code, failure(code, status));
  expect(Object.entries(is).flatMap(([name, test]) => (test(error) ? [name] : []))).toEqual(expected);
});

const denied = 'admission webhook "a.b.c" denied the request: no';
const policy =
  "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no";
// As kube-apiserver 1.36 answers.
test.each([
  ['overtaken', 409, { reason: 'AlreadyExists', details: { kind: 'configmaps' } }],
  ['overtaken', 409, { reason: 'Conflict', details: { kind: 'configmaps' } }],
  ['overtaken', 422, { reason: 'Invalid', details: {} }],
  ['refused', 422, { reason: 'Invalid', message: policy, details: { kind: 'configmaps' } }],
  ['refused', 403, { reason: 'Forbidden', message: policy, details: { kind: 'configmaps' } }],
  ['refused', 401, { reason: 'Unauthorized', message: policy, details: { kind: 'configmaps' } }],
  ['refused', 413, { reason: 'RequestEntityTooLarge', message: policy, details: { kind: 'configmaps' } }],
  ['refused', 422, { reason: 'Invalid', details: { kind: 'Pod', causes: [{ field: 'spec' }] } }],
  ...[400, 403, 404, 409, 410, 422, 429, 500].map((code) => ['refused', code, { message: denied }] as const),
  ['refused', 400, { reason: 'BadRequest' }],
  ['refused', 500, { message: 'Internal error occurred: failed calling webhook "a.b.c": no endpoints' }],
  ...['resourcequotas', 'clusterresourcequotas'].map(
    (kind) => ['neither', 409, { reason: 'Conflict', details: { kind } }] as const,
  ),
  ['neither', 403, { reason: 'Forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } }],
  ['neither', 404, { reason: 'NotFound', details: { kind: 'namespaces' } }],
  ['neither', 429, { reason: 'TooManyRequests' }],
  ['neither', 500, { reason: 'InternalError' }],
  ['neither', 504, { reason: 'Timeout' }],
] as const)('a write is %s by the error %i %j', (expected, code, status) => {
  const error = apiErrorFrom(code, failure(code, status));
  const is = isOvertaken(error) ? 'overtaken' : isRefused(error) ? 'refused' : 'neither';
  expect(is).toBe(expected);
  if (expected === 'refused') expect([isNotFound(error), isConflict(error)]).toEqual([false, false]);
});

test('asTransportError keeps the code, the message and the cause of a system error', () => {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const error = asTransportError(cause, 'GET /version');
  expect(error).toBeInstanceOf(TransportError);
  expect(error).toMatchObject({ code: 'ECONNRESET', message: 'GET /version: read ECONNRESET', cause });
});

test.each([
  ['a namespaced object', { namespace: 'shop', name: 'cart' }, 'shop/cart'],
  ['a cluster-scoped object', { name: 'node-1' }, 'node-1'],
])('the key of %s splits into the same parts', (_, metadata, key) => {
  expect(keyOf({ metadata })).toBe(key);
  expect(splitKey(key)).toEqual(metadata);
});

test.each(['', '/', '/cart', 'shop/', 'shop/cart/extra'])('the key %j of an object is refused', (key) => {
  expect(() => splitKey(key)).toThrow(`bad object key "${key}": expected "namespace/name" or "name"`);
});

test('the identity of an object keeps only the metadata that a cache needs', () => {
  const identity = { name: 'cart', namespace: 'shop', uid: 'u', resourceVersion: '7' };
  const more = {
    labels: { app: 'shop' },
    annotations: { a: 'b' },
    managedFields: [{}],
    finalizers: ['a/b'],
  };
  expect(identityOf({ metadata: { ...identity, ...more } })).toEqual(identity);
});
