import { expect, test } from '@jest/globals';
import {
  automatonBytes,
  regexFault,
  regexMatches,
  regexSteps,
} from '../../../../../src/addons/routes/compile/regex.ts';

const TOO_LARGE = 'is too large: at most 2000 steps are allowed. Make it shorter, or its repetitions smaller';

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
])('regexFault allows %s', (pattern) => {
  expect(regexFault(pattern)).toBeUndefined();
});

test.each([
  ['', 'is empty'],
  ['(?=a)', 'is invalid: invalid or unsupported Perl syntax: `(?=`'],
  ['(', 'is invalid: missing closing ): `(`'],
  ['a{1001}', 'is invalid: its repetitions exceed 1000 in total'],
  ['.{999}a', TOO_LARGE],
  ['(?:a{40}){30}', 'is invalid: its repetitions exceed 1000 in total'],
  ['(?:){40}(?i){40}', 'is invalid: its repetitions exceed 1000 in total'],
  ['a{3,2}', 'is invalid: invalid repeat count: `{3,2}`'],
  ['\\p{', 'is invalid: invalid character class range: `\\p{`'],
  ['\\x{100}', 'has a character above \\xff'],
  ['a|\\400', 'has a character above \\xff'],
  ['\\\\\\777', 'has a character above \\xff'],
  ['\\p{Emoji}', 'names the class Emoji, which is not a general category such as Lu'],
])('regexFault says what is wrong with "%s"', (pattern, fault) => {
  expect(regexFault(pattern)).toBe(fault);
});

test('the expression of a route matches the whole text, byte by byte', () => {
  expect(regexMatches('a+', 'aa')).toBe(true);
  expect(regexMatches('a+', 'aab')).toBe(false);
  expect(regexMatches('..', 'é')).toBe(true);
  expect(regexMatches('é', 'é')).toBe(true);
});

/** As RE2 has it for bytes: `RE2::ProgramSize` of these is below, and not by much. */
test.each([
  ['abc', 9, 7],
  ['a{10}', 16, 14],
  ['.{990}', 1986, 1984],
  ['(a|b)', 13, 7],
  ['(ab){3}', 18, 16],
  ['((a{2}b){2}c){3}', 45, 43],
  ['[a-z]{2}', 16, 6],
  ['\\pL', 22, 11],
  ['\\W{100}', 506, 504],
  ['[^\\w.]', 17, 10],
  ['a\\{3}', 10, 8],
  ['[(]{2}', 12, 6],
  ['[[:alpha:]]{2}', 28, 6],
  ['\\Q[\\E.{10}', 31, 25],
  ['a{12}(?i){2}', 54, 28],
  ['(a{1,31}){1,31}', 1989, 1987],
])('the expression %s has at most %d steps, really %d', (pattern, steps, size) => {
  expect(regexSteps(pattern)).toBe(steps);
  expect(steps).toBeGreaterThanOrEqual(size);
});

test.each(['/v[0-9]+/.*', '.*@example\\.com', '.*(Chrome|Firefox|Safari)/.*', '.*a.{3}', '.{990}'])(
  'Envoy keeps little for the expression %s, whatever it matches',
  (pattern) => {
    expect(automatonBytes(pattern)).toBeLessThan(240_000);
  },
);

test.each([
  '.*a.{20}',
  '.*a....................',
  '(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)',
  '[ab]{0,30}a[ab]{20}',
  '(a{1,31}){1,31}',
  '\\W*\\pP\\W{20}',
])('Envoy may keep megabytes for the expression %s', (pattern) => {
  expect(automatonBytes(pattern)).toBe(2_700_000);
});

test.each([
  'a{1,333}'.repeat(200),
  '(a{1,31}){1,32}',
  `(?i)${'\\pL'.repeat(1300)}`,
  'a'.repeat(6000),
  '['.repeat(1_000_000),
])('the expression %.20s is refused before it is compiled', (pattern) => {
  expect(regexFault(pattern)).toBe(TOO_LARGE);
});
