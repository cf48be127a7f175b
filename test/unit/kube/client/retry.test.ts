import { describe, expect, test } from '@jest/globals';
import { ApiError, apiErrorFrom, TransportError } from '../../../../src/kube/api/api-error.ts';
import { retryDelay } from '../../../../src/kube/client/rest-client.ts';

const api = (status: number, retryAfter?: string, body: object = {}) =>
  apiErrorFrom(status, body, retryAfter);
const cut = (code: string) => new TransportError('cut', code, undefined);

describe('retryDelay', () => {
  test.each([
    ['429 with Retry-After', api(429, '1'), 1000, 1000],
    ['429 without Retry-After', api(429), 100, 100],
    ['503 with Retry-After', api(503, '2'), 2000, 2000],
    ['503 without Retry-After', api(503), undefined, undefined],
    ['500', api(500), undefined, undefined],
    ['409', api(409), undefined, undefined],
    ['404 with Retry-After', api(404, '1'), undefined, undefined],
    ['a wait that the caller must plan', api(429, '6'), undefined, undefined],
    ['refused', cut('ECONNREFUSED'), 100, 100],
    ['reset', cut('ECONNRESET'), 100, undefined],
    ['an idle connection that the server has closed', cut('UND_ERR_SOCKET'), 100, undefined],
    ['timed out', cut('ETIMEDOUT'), undefined, undefined],
    ['credentials that cannot be read', cut('ECREDENTIALS'), undefined, undefined],
    ['a bug', new TypeError('bug'), undefined, undefined],
    [
      'a resourceVersion ahead of the server',
      new ApiError({
        status: 504,
        reason: 'Timeout',
        message: '',
        retryAfterMs: 1000,
        causes: ['ResourceVersionTooLarge'],
      }),
      undefined,
      undefined,
    ],
  ])('%s', (_, error, read, write) => {
    expect(retryDelay('GET', error, 1)).toBe(read);
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE'] as const)
      expect(retryDelay(method, error, 1)).toBe(write);
  });

  test('doubles the delay each time, and gives up after the fourth retry', () => {
    expect([1, 2, 3, 4].map((attempt) => retryDelay('GET', cut('ECONNRESET'), attempt))).toEqual([
      100,
      200,
      400,
      undefined,
    ]);
  });

  test('is never shorter than Retry-After', () => {
    expect(retryDelay('GET', api(429, '0'), 2)).toBe(200);
    expect(retryDelay('GET', api(429, '5'), 3)).toBe(5000);
  });
});
