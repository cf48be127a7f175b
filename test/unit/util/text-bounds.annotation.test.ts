import { describe, expect, test } from '@jest/globals';
import { parseAnnotation, sizeProblem } from '../../../src/util/text-bounds.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('parseAnnotation', () => {
  test('parses 256 KiB', () => {
    const text = JSON.stringify('x'.repeat(256 * 1024 - 2));
    expect(parseAnnotation(text)).toHaveLength(256 * 1024 - 2);
  });

  test('returns undefined for one character more', () => {
    const text = JSON.stringify('x'.repeat(256 * 1024 - 1));
    expect(parseAnnotation(text)).toBeUndefined();
    expect(sizeProblem(text)).toBe(
      'has 262145 characters: write at most 262144, the limit of all annotations of a pod together',
    );
  });

  test('parses a value that nests 32 deep', () => {
    expect(parseAnnotation(nested(32))).toBeDefined();
    expect(parseAnnotation('{"a":'.repeat(32) + 0 + '}'.repeat(32))).toBeDefined();
  });

  test('returns undefined for a value that nests deeper', () => {
    expect(sizeProblem(nested(33))).toBe('nests lists and objects deeper than 32: write fewer');
    expect(parseAnnotation('{"a":'.repeat(33) + 0 + '}'.repeat(33))).toBeUndefined();
  });

  test.each([
    ['brackets in text', JSON.stringify('['.repeat(50))],
    ['brackets after a quote in text', JSON.stringify(`"${'['.repeat(50)}`)],
    ['brackets after an escape in text', JSON.stringify(`\\${'{'.repeat(50)}`)],
    ['many adjacent lists', `[${'[],'.repeat(50)}{}]`],
  ])('does not count %s as nesting', (_, text) => {
    expect(parseAnnotation(text)).toEqual(JSON.parse(text));
  });

  test('returns undefined for text that is not JSON', () => {
    expect(parseAnnotation('{')).toBeUndefined();
    expect(sizeProblem('{')).toBeUndefined();
  });
});
