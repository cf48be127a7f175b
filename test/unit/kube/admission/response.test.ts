import { describe, expect, test } from '@jest/globals';
import { type AdmissionAnswer, formatReview } from '../../../../src/kube/admission/review.ts';

const response = (verdict: AdmissionAnswer) => JSON.parse(formatReview('u1', verdict));

describe('the answer to a review', () => {
  test('has a patch in base64, and its type', () => {
    const operations = [{ op: 'add', path: '/a', value: 'ü"😀>>>???' }] as const;
    const { patch, ...rest } = response({ allowed: true, operations }).response;
    expect(rest).toEqual({ uid: 'u1', allowed: true, patchType: 'JSONPatch' });
    // Go's decoder accepts only the standard alphabet with padding.
    expect(patch).toMatch(/^(?=.*[+/])[A-Za-z0-9+/]*={0,2}$/);
    expect(patch.length % 4).toBe(0);
    expect(JSON.parse(Buffer.from(patch, 'base64').toString())).toEqual(operations);
  });

  test('has warnings of at most 256 characters, cut between characters', () => {
    const { warnings } = response({
      allowed: true,
      warnings: ['a'.repeat(256), `${'b'.repeat(254)}😀c`],
    }).response;
    expect(warnings).toEqual(['a'.repeat(256), `${'b'.repeat(254)}…`]);
  });

  test('has at most ten warnings, and the number of the others', () => {
    const warnings = Array.from({ length: 25 }, (_, i) => `w${i}`);
    expect(response({ allowed: true, warnings }).response.warnings).toEqual([
      ...warnings.slice(0, 10),
      'and 15 more',
    ]);
  });
});
