import { describe, expect, test } from '@jest/globals';
import { formatQuantity, parseQuantity } from '../../../../src/injection/podspec/quantity.ts';

const one = 1_000_000_000n;

describe('a quantity', () => {
  test.each([
    ['1', one],
    ['100m', one / 10n],
    ['0.5', one / 2n],
    ['.5', one / 2n],
    ['5.', 5n * one],
    [0.25, one / 4n],
    [3, 3n * one],
    ['+1', one],
    ['-1', -one],
    ['1Ki', 1024n * one],
    ['1.5Gi', 1536n * 1024n * 1024n * one],
    ['512Mi', 512n * 1024n * 1024n * one],
    ['1k', 1000n * one],
    ['1E', 10n ** 18n * one],
    ['1Ei', 2n ** 60n * one],
    ['1e3', 1000n * one],
    ['1E3', 1000n * one],
    ['12e-1', (12n * one) / 10n],
    ['1n', 1n],
    ['1u', 1000n],
    ['0.1n', 1n],
    [1e21, 10n ** 21n * one],
  ])('%s', (text, want) => {
    expect(parseQuantity(text)).toBe(want);
  });

  test.each([
    '',
    '.',
    'm',
    '1 Gi',
    '1gi',
    '1K',
    '0x10',
    '1e',
    '1e999',
    'one',
    '--1',
    null,
    true,
    undefined,
    `${'9'.repeat(65)}`,
  ])('is not %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});

test.each<[bigint, string, string]>([
  [3n * one, '1', '3'],
  [one / 10n, '100m', '100m'],
  [one / 1000n / 1000n, '1', '1000n'],
  [64n * 1024n * one, '1Mi', '64Ki'],
  [1000n * one, '1Mi', '1000'],
  [2048n * one, '1k', '2048'],
])('%d thousand-millionths are written like %s as %s', (amount, example, want) => {
  expect(formatQuantity(amount, example)).toBe(want);
  expect(parseQuantity(want)).toBe(amount);
});
