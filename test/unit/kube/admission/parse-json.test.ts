import { describe, expect, test } from '@jest/globals';
import { parseJson } from '../../../../src/kube/admission/read-body.ts';

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

describe('a body', () => {
  test('of up to 256 KiB may have any values, at any depth', () => {
    expect(outcome(nested(1000))).toBe('parsed');
  });

  test('may have at most 60,000 values, of which the list is one', () => {
    expect(outcome(list(59_999))).toBe('parsed');
    expect(outcome(list(60_000))).toBe('413 the body has more than 60000 values');
  });

  test('may nest at most 100 levels deep', () => {
    expect(outcome(filled(nested(100)))).toBe('parsed');
    expect(outcome(filled(nested(102)))).toBe('413 the body nests lists and objects deeper than 100');
  });

  test.each([',', '[', '{', '"', '\\'])('may hold any number of %s in text', (character) => {
    expect(outcome(JSON.stringify({ a: character.repeat(300_000), b: [1] }))).toBe('parsed');
  });

  test.each(['"', '"\\', '[{"a'])('that breaks off is no more than it is: %s', (end) => {
    expect(outcome(filled(end))).toBe('400 the body is not JSON');
  });
});
