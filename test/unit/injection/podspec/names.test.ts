import { describe, expect, test } from '@jest/globals';
import { isDnsLabel, isDnsSubdomain } from '../../../../src/injection/podspec/names.ts';
import { clip } from '../../../../src/util/clip.ts';
import { suggest } from '../../../../src/util/suggest.ts';

const long = (length: number) => 'a'.repeat(length);

describe('names', () => {
  test.each<[string, (name: string) => boolean, string[], string[]]>([
    ['a DNS label', isDnsLabel, ['a', 'a-1', '0', long(63)], ['', 'A', '-a', 'a-', 'a.b', 'a_b', long(64)]],
    ['a DNS subdomain', isDnsSubdomain, ['a', 'a.b-c.1'], ['', 'a..b', '.a', 'A', `${long(63)}.`.repeat(4)]],
  ])('%s is recognized', (_, is, good, bad) => {
    expect(good.filter((name) => !is(name))).toEqual([]);
    expect(bad.filter((name) => is(name))).toEqual([]);
  });

  test('have a suggestion if one is near', () => {
    expect(suggest('contianers', ['containers', 'initContainers'])).toBe('containers');
    expect(suggest('IMAGE', ['image'])).toBe('image');
    expect(suggest('xyz', ['containers'])).toBeUndefined();
    expect(suggest('x'.repeat(100_000), ['containers'])).toBeUndefined();
  });

  test('are cut between characters', () => {
    expect(clip('abc', 3)).toBe('abc');
    expect(clip('abcd', 3)).toBe('ab…');
    expect(clip('a😀b', 3)).toBe('a…');
  });
});
