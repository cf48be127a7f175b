import { describe, expect, test } from '@jest/globals';
import { clip, quote, quoteText } from '../../../src/util/clip.ts';

describe('clip', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['a\u{1F600}b', 3, 'a…'],
  ])('cuts %j to %d characters', (text, length, clipped) => {
    expect(clip(text, length)).toBe(clipped);
  });
});

describe('quote', () => {
  test('returns JSON', () => {
    expect(quote(['a', 1])).toBe('["a",1]');
  });

  test('cuts the JSON to 80 characters', () => {
    expect(quote('x'.repeat(78))).toBe(`"${'x'.repeat(78)}"`);
    expect(quote('x'.repeat(79))).toBe(`"${'x'.repeat(78)}…`);
  });

  test('cuts a text within its quotes', () => {
    expect(quoteText('a"b')).toBe('"a\\"b"');
    expect(quoteText('abcd', 3)).toBe('"ab…"');
    expect(quoteText('x'.repeat(81))).toBe(`"${'x'.repeat(79)}…"`);
  });
});
