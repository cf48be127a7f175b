import { describe, expect, test } from '@jest/globals';
import { HttpError } from '../../../../src/kube/admission/http-error.ts';
import { parseReview } from '../../../../src/kube/admission/review.ts';
import { podRequest, podReview } from '../../../support/injection/admission-review.ts';

const message = (body: unknown) => {
  try {
    parseReview(body);
  } catch (err) {
    return err instanceof HttpError && err.status === 400 ? err.message : err;
  }
  return 'accepted';
};

describe('an AdmissionReview', () => {
  test('of a new pod is decoded to the used fields', () => {
    expect(parseReview(podReview())).toEqual(podRequest());
  });

  test.each<[string, unknown, string]>([
    ['null', null, 'the body: expected an object, got null'],
    [
      'another version',
      { ...podReview(), apiVersion: 'admission.k8s.io/v1beta1' },
      'apiVersion: expected "admission.k8s.io/v1", got string',
    ],
    ['no request', { ...podReview(), request: undefined }, 'request: expected an object, got undefined'],
    [
      'a uid that is too long',
      podReview({ uid: 'x'.repeat(254) }),
      'request.uid: expected at most 253 characters, got 254',
    ],
    ['no uid', podReview({ uid: '' }), 'request.uid: expected a uid, got string'],
    ['no kind', podReview({ kind: null }), 'request.kind.group: expected a string, got undefined'],
    [
      'no resource',
      podReview({ resource: { group: '' } }),
      'request.resource.version: expected a string, got undefined',
    ],
    [
      'an object of the wrong type',
      podReview({ object: 'secret' }),
      'request.object: expected an object, got string',
    ],
  ])('is refused with %s', (_, body, want) => {
    expect(message(body)).toBe(`not an AdmissionReview: ${want}`);
  });
});
