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

  test.each<[string, unknown]>([
    ['the body: expected an object, got null', null],
    [
      'apiVersion: expected "admission.k8s.io/v1", got string',
      { ...podReview(), apiVersion: 'admission.k8s.io/v1beta1' },
    ],
    ['request: expected an object, got undefined', { ...podReview(), request: undefined }],
    ['request.uid: expected at most 253 characters, got 254', podReview({ uid: 'x'.repeat(254) })],
    ['request.uid: expected a uid, got string', podReview({ uid: '' })],
    ['request.kind.group: expected a string, got undefined', podReview({ kind: null })],
    ['request.resource.version: expected a string, got undefined', podReview({ resource: { group: '' } })],
    ['request.object: expected an object, got string', podReview({ object: 'secret' })],
  ])('is refused: %s', (want, body) => {
    expect(message(body)).toBe(`not an AdmissionReview: ${want}`);
  });
});
