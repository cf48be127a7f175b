import { describe, expect, test } from '@jest/globals';
import { HttpError } from '../../../../src/kube/admission/http-error.ts';
import { jsonExcess } from '../../../../src/kube/admission/json-bounds.ts';
import { parseJson } from '../../../../src/kube/admission/parse-json.ts';

const excess = (text: string) => jsonExcess(Buffer.from(text));
/** Long enough for a check of its bounds. */
const filled = (text: string) => `${' '.repeat(256 * 1024)}${text}`;
const list = (values: number) => filled(`[${'0,'.repeat(values - 1)}0]`);
const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`;

describe('a body', () => {
  test('of up to 256 KiB may have any values, at any depth', () => {
    expect(excess(nested(1000))).toBeUndefined();
    expect(excess('['.repeat(256 * 1024))).toBeUndefined();
  });

  test('may have at most 60,000 values', () => {
    // The list is one value, and so is the text before the first comma.
    expect(excess(list(59_999))).toBeUndefined();
    expect(excess(list(60_000))).toBe('has more than 60000 values');
    expect(excess(filled('{},'.repeat(40_000)))).toBe('has more than 60000 values');
  });

  test('may nest at most 100 levels deep', () => {
    expect(excess(filled(nested(100)))).toBeUndefined();
    expect(excess(filled(nested(102)))).toBe('nests lists and objects deeper than 100');
  });

  test.each([
    ['commas', ','],
    ['brackets', '['],
    ['braces', '{'],
    ['quotes', '"'],
    ['backslashes', '\\'],
  ])('may hold any number of %s in text', (_, character) => {
    expect(excess(JSON.stringify({ a: character.repeat(300_000), b: [1] }))).toBeUndefined();
  });

  test.each(['"', '"\\', '[{"a'])('that breaks off is no more than it is: %s', (end) => {
    expect(excess(filled(end))).toBeUndefined();
  });

  test('beyond the bounds is refused with 413, and not parsed', () => {
    const error = new HttpError(413, 'the body nests lists and objects deeper than 100');
    expect(() => parseJson(Buffer.from('['.repeat(1_000_000)))).toThrow(error);
  });
});
