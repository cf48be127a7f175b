import { expect, test } from '@jest/globals';
import { diagnose, explain } from '../../../../src/injection/rules/index.ts';

test('a diagnostic is explained in one line, with its reason and its place', () => {
  const [one, two] = diagnose('conflict', ['one', 'two']);
  if (!one || !two) throw new Error('expected one for each message');
  expect(explain([one, { ...two, path: 'spec' }])).toEqual(['conflict: one', 'conflict: spec: two']);
});
