import { describe, expect, test } from '@jest/globals';
import { DEFAULT_OPTIONS, parseOptions } from '../../../../src/injection/template/options.ts';

const parse = (text: string) => parseOptions('options', text);

test('the defaults skip at a conflict, make the sidecars of jobs native, and add containers last', () => {
  expect(DEFAULT_OPTIONS).toEqual({ onConflict: 'skip', nativeSidecar: 'jobs', position: 'last' });
});

describe('options', () => {
  test.each([
    ['onConflict', 'skip'],
    ['onConflict', 'deny'],
    ['nativeSidecar', 'jobs'],
    ['nativeSidecar', 'always'],
    ['nativeSidecar', 'never'],
    ['position', 'last'],
    ['position', 'first'],
  ])('accept %s: %s, and leave the others at their defaults', (field, value) => {
    expect(parse(`${field}: ${value}\n`)).toEqual({ options: { ...DEFAULT_OPTIONS, [field]: value } });
  });

  test.each([
    ['an empty text', ''],
    ['blanks', ' \n'],
    ['an empty mapping', '{}'],
    ['an empty value', 'position:\n'],
  ])('are the defaults for %s', (_, text) => {
    expect(parse(text)).toEqual({ options: DEFAULT_OPTIONS });
  });

  test.each([
    ['onConflict: no', 'onConflict', 1, 1, 'must be one of skip, deny'],
    ['nativeSidecar: no', 'nativeSidecar', 1, 1, 'must be one of jobs, always, never'],
    ['position: no', 'position', 1, 1, 'must be one of last, first'],
    ['onConflict: 1', 'onConflict', 1, 1, 'must be a string: write "1" with quotes'],
    ['nativeSidecar: 1', 'nativeSidecar', 1, 1, 'must be a string: write "1" with quotes'],
    ['position: 1', 'position', 1, 1, 'must be a string: write "1" with quotes'],
  ])('refuse %s', (text, path, line, column, message) => {
    expect(parse(text)).toMatchObject({ faults: [{ source: 'options', path, line, column, message }] });
  });

  test('that are not YAML have a fault at its place', () => {
    expect(parse('a: [')).toMatchObject({
      faults: [{ source: 'options', line: 1, column: 5, message: expect.any(String) }],
    });
  });
});
