import { expect, test } from '@jest/globals';
import { regexCost, regexFault, regexMatches } from '../../../src/routing/regex.ts';

test.each([
  '/v[0-9]+/.*',
  '(?i)abc',
  '\\pL{100}',
  '\\p{Lu}',
  '\\P{L}',
  '\\x{ff}',
  '\\\\x{100}',
  '\\377',
  '\\\\777',
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
  ['a|\\400', 'has a character above \\xff'],
  ['\\\\\\777', 'has a character above \\xff'],
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

test.each([
  ['abc', 3],
  ['a{10}', 10],
  ['(ab){3}', 9],
  ['((a{2}b){2}c){3}', 30],
  ['[a-z]{2}', 10],
  ['\\pL', 21],
  ['a\\{3}', 5],
  ['[(]{2}', 6],
  ['(a', 1],
  ['a)', 2],
  ['(a{1,31}){1,31}', 992],
])('%s costs %d to compile', (pattern, cost) => {
  expect(regexCost(pattern)).toBe(cost);
});

test.each([
  'a{1,333}'.repeat(500),
  '((a{1,99}){1,99}){1,99}',
  `(?i)${'\\pL'.repeat(1300)}`,
  'a'.repeat(6000),
  '['.repeat(1_000_000),
])('refuses %.20s before it is compiled', (pattern) => {
  expect(regexFault(pattern)).toBe('is too large: make it shorter, or its repetitions smaller');
});
