import { expect, test } from '@jest/globals';
import { timeToAnswer } from '../../../src/webhook/deadline.ts';

test.each([
  ['/inject?timeout=5s', 4500],
  ['/inject?timeout=1m0s', 27_000],
  ['/inject?x=1&timeout=1.5s', 1350],
  ['/inject?timeout=500ms', 450],
  ['/inject', 9000],
  ['/inject?timeout=', 9000],
  ['/inject?timeout=0s', 9000],
  ['/inject?timeout=-5s', 9000],
  ['/inject?timeout=forever', 9000],
  ['/inject?timeout=5', 9000],
])('a call of %s has %d ms: nine tenths of what it is given', (url, milliseconds) => {
  expect(timeToAnswer(url)).toBe(milliseconds);
});
