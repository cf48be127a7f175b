import { expect, test } from '@jest/globals';
import { askAgainMs } from '../../../../src/addons/policies/ask-again.ts';

test('askAgainMs returns ten to twelve minutes', () => {
  const delays = Array.from({ length: 1000 }, askAgainMs);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(600_000);
  expect(Math.max(...delays)).toBeLessThanOrEqual(720_000);
});
