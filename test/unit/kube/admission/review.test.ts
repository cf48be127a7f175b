import { expect, test } from '@jest/globals';
import { timeToAnswer } from '../../../../src/kube/admission/app.ts';
import { HttpError } from '../../../../src/kube/admission/http-error.ts';
import { parseJson } from '../../../../src/kube/admission/read-body.ts';
import { type AdmissionAnswer, formatReview, parseReview } from '../../../../src/kube/admission/review.ts';
import { podRequest, podReview } from '../../../support/injection/admission-review.ts';

const message = (body: unknown) => {
  try {
    parseReview(body);
  } catch (err) {
    return err instanceof HttpError && err.status === 400 ? err.message : err;
  }
  return 'accepted';
};

test('an AdmissionReview of a new pod is decoded to the used fields', () => {
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
])('an AdmissionReview is refused: %s', (want, body) => {
  expect(message(body)).toBe(`not an AdmissionReview: ${want}`);
});

const response = (verdict: AdmissionAnswer) => JSON.parse(formatReview('u1', verdict));

test('the answer to a review has a patch in base64, and its type', () => {
  const operations = [{ op: 'add', path: '/a', value: 'ü"😀>>>???' }] as const;
  const { patch, ...rest } = response({ allowed: true, operations }).response;
  expect(rest).toEqual({ uid: 'u1', allowed: true, patchType: 'JSONPatch' });
  // Go's decoder accepts only the standard alphabet with padding.
  expect(patch).toMatch(/^(?=.*[+/])[A-Za-z0-9+/]*={0,2}$/);
  expect(patch.length % 4).toBe(0);
  expect(JSON.parse(Buffer.from(patch, 'base64').toString())).toEqual(operations);
});

test('the answer to a review has warnings of at most 256 characters, cut between characters', () => {
  const { warnings } = response({
    allowed: true,
    warnings: ['a'.repeat(256), `${'b'.repeat(254)}😀c`],
  }).response;
  expect(warnings).toEqual(['a'.repeat(256), `${'b'.repeat(254)}…`]);
});

test('the answer to a review has at most ten warnings, and the number of the others', () => {
  const warnings = Array.from({ length: 25 }, (_, i) => `w${i}`);
  expect(response({ allowed: true, warnings }).response.warnings).toEqual([
    ...warnings.slice(0, 10),
    'and 15 more',
  ]);
});

/** The HTTP status of a refusal, and its message. */
function outcome(text: string): string {
  try {
    parseJson(Buffer.from(text));
    return 'parsed';
  } catch (error) {
    const { status, message } = error as { status: number; message: string };
    return `${status} ${message}`;
  }
}
/** Long enough for a check of its bounds. */
const filled = (text: string) => `${' '.repeat(256 * 1024)}${text}`;
const list = (values: number) => filled(`[${'0,'.repeat(values - 1)}0]`);
const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`;

test('a body of a review of up to 256 KiB may have any values, at any depth', () => {
  expect(outcome(nested(1000))).toBe('parsed');
});

test('a body of a review may have at most 60,000 values, of which the list is one', () => {
  expect(outcome(list(59_999))).toBe('parsed');
  expect(outcome(list(60_000))).toBe('413 the body has more than 60000 values');
});

test('a body of a review may nest at most 100 levels deep', () => {
  expect(outcome(filled(nested(100)))).toBe('parsed');
  expect(outcome(filled(nested(102)))).toBe('413 the body nests lists and objects deeper than 100');
});

test.each([',', '[', '{', '"', '\\'])('a body of a review may hold any number of %s in text', (character) => {
  expect(outcome(JSON.stringify({ a: character.repeat(300_000), b: [1] }))).toBe('parsed');
});

test.each(['"', '"\\', '[{"a'])('a body of a review that breaks off is no more than it is: %s', (end) => {
  expect(outcome(filled(end))).toBe('400 the body is not JSON');
});

test.each([
  ['/inject?timeout=5s', 4500],
  ['/inject?timeout=1m0s', 9000],
  ['/inject?x=1&timeout=500ms', 450],
  ['/inject', 9000],
  ['/inject?timeout=0s', 9000],
  ['/inject?timeout=-5s', 9000],
  ['/inject?timeout=5', 9000],
])(
  'a review with %s has %d ms: nine tenths of its timeout, which is at most ten seconds',
  (url, expected) => {
    expect(timeToAnswer(url)).toBe(expected);
  },
);
