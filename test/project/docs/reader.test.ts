import { expect, test } from '@jest/globals';
import { isAsPrinted } from '../../support/jest/reader.ts';

test.each([
  ['NAME   AGE\nother   5m3s\n', true],
  ['NAME        AGE\nother       1s\n', true],
  ['NAME   AGE\nothers   1s\n', false],
  ['NAME   AGE\nother   1s\nmore   1s\n', false],
  ['NAME   AGE\n', false],
])('a table with an age matches %j: %s', (printed, expected) => {
  expect(isAsPrinted(['NAME    AGE', 'other   3s'], printed)).toBe(expected);
});

test.each([
  ['first\nsecond\nthird.\n', true],
  ['first\nsecond\nand a half\nthird.\n', true],
  ['first\nthird.\n', false],
  ['first\nsecond\nthird!\n', false],
])('an ellipsis in a document matches any text: %j: %s', (printed, expected) => {
  expect(isAsPrinted(['first', '…', 'th…rd.'], printed)).toBe(expected);
});
