import { expect, test } from '@jest/globals';
import { selects } from '../../../../src/cli/check/check-webhook.ts';
import type { JsonValue } from '../../../../src/util/json.ts';

const LABELS = { app: 'web', tier: '' };
const expression = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

test.each<[JsonValue | undefined, boolean]>([
  [undefined, true],
  [{}, true],
  [{ matchLabels: { app: 'web' } }, true],
  [{ matchLabels: { app: 'web', gone: '' } }, false],
  [{ matchLabels: { tier: '' } }, true],
  [{ matchLabels: { constructor: 'x' } }, false],
  [expression('app', 'In', 'a', 'web'), true],
  [expression('app', 'In', 'a'), false],
  [expression('gone', 'In', 'a'), false],
  [expression('app', 'NotIn', 'web'), false],
  [expression('gone', 'NotIn', 'web'), true],
  [expression('tier', 'Exists'), true],
  [expression('constructor', 'Exists'), false],
  [expression('tier', 'DoesNotExist'), false],
  [expression('gone', 'DoesNotExist'), true],
  [expression('app', 'Gt', '1'), false],
  [{ matchLabels: { app: 'web' }, ...expression('tier', 'DoesNotExist') }, false],
])('%j selects app=web, tier=: %s', (selector, selected) => {
  expect(selects(selector, LABELS)).toBe(selected);
});
