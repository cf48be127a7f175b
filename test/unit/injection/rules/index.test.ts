import { expect, test } from '@jest/globals';
import { explain } from '../../../../src/injection/rules/index.ts';

test('an obstacle is explained with one line per message, each with its reason', () => {
  expect(explain({ reason: 'conflict', messages: ['one', 'two'] })).toEqual([
    'conflict: one',
    'conflict: two',
  ]);
});
