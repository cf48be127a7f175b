import { expect, test } from '@jest/globals';
import { timeToAnswer } from '../../../../src/kube/admission/deadline.ts';

test.each([
  ['/inject?timeout=5s', 4500],
  ['/inject?timeout=1m0s', 9000],
  ['/inject?x=1&timeout=500ms', 450],
  ['/inject', 9000],
  ['/inject?timeout=0s', 9000],
  ['/inject?timeout=-5s', 9000],
  ['/inject?timeout=5', 9000],
])('a call of %s has %d ms: nine tenths of its timeout, which is at most ten seconds', (url, expected) => {
  expect(timeToAnswer(url)).toBe(expected);
});
