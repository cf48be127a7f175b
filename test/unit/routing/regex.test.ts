import { expect, test } from '@jest/globals';
import { regexFault, regexMatches } from '../../../src/routing/regex.ts';

test.each([
  '/v[0-9]+/.*',
  '(?i)abc',
  '\\pL{100}',
  '\\p{Lu}',
  '\\P{L}',
  '\\x{ff}',
  '\\\\x{100}',
  'é',
  'a{900}',
])('allows %s', (pattern) => {
  expect(regexFault(pattern)).toBeUndefined();
});

test.each([
  ['', 'is empty'],
  ['(?=a)', 'is invalid: invalid or unsupported Perl syntax: `(?=`'],
  ['(', 'is invalid: missing closing ): `(`'],
  ['a{1001}', 'is invalid: invalid repeat count: `{1001}`'],
  ['.{999}a', 'is too large: its program has 1002 steps, of at most 1000'],
  ['\\x{100}', 'has a character above \\xff'],
  ['\\p{Emoji}', 'names the class Emoji, which is not a general category such as Lu'],
])('says what is wrong with "%s"', (pattern, fault) => {
  expect(regexFault(pattern)).toBe(fault);
});

test('matches the whole text, byte by byte', () => {
  expect(regexMatches('a+', 'aa')).toBe(true);
  expect(regexMatches('a+', 'aab')).toBe(false);
  expect(regexMatches('..', 'é')).toBe(true);
  expect(regexMatches('é', 'é')).toBe(true);
});
