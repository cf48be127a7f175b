import { describe, expect, test } from '@jest/globals';
import { parseAnnotation, sizeProblem } from '../../../src/json/annotation-json.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('an annotation', () => {
  test('of 256 KiB is parsed', () => {
    const text = JSON.stringify('x'.repeat(256 * 1024 - 2));
    expect(parseAnnotation(text)).toHaveLength(256 * 1024 - 2);
  });

  test('of one character more is not', () => {
    const text = JSON.stringify('x'.repeat(256 * 1024 - 1));
    expect(parseAnnotation(text)).toBeUndefined();
    expect(sizeProblem(text)).toBe(
      'has 262145 characters: write at most 262144, as all annotations of a pod together have',
    );
  });

  test('that nests 32 deep is parsed', () => {
    expect(parseAnnotation(nested(32))).toBeDefined();
    expect(parseAnnotation('{"a":'.repeat(32) + 0 + '}'.repeat(32))).toBeDefined();
  });

  test('that nests deeper is not', () => {
    expect(sizeProblem(nested(33))).toBe('nests lists and objects deeper than 32: write fewer');
    expect(parseAnnotation('{"a":'.repeat(33) + 0 + '}'.repeat(33))).toBeUndefined();
  });

  test.each([
    ['brackets in text', JSON.stringify('['.repeat(50))],
    ['brackets behind a quote in text', JSON.stringify(`"${'['.repeat(50)}`)],
    ['brackets behind an escape in text', JSON.stringify(`\\${'{'.repeat(50)}`)],
    ['many lists beside each other', `[${'[],'.repeat(50)}{}]`],
  ])('with %s does not nest', (_, text) => {
    expect(parseAnnotation(text)).toEqual(JSON.parse(text));
  });

  test('that is no JSON has no value', () => {
    expect(parseAnnotation('{')).toBeUndefined();
    expect(sizeProblem('{')).toBeUndefined();
  });
});
