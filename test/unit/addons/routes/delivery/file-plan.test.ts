import { expect, test } from '@jest/globals';
import { planFile } from '../../../../../src/addons/routes/delivery/file-plan.ts';
import { ROUTES_LABEL } from '../../../../../src/addons/routes/delivery/resources.ts';

const labels = { [ROUTES_LABEL]: 'home' };
/** A ConfigMap with this text, whose version is the text. */
const map = (text: string, metadata: object = { labels }) => ({
  metadata: { name: 'envoy-routes', ...metadata },
  version: text,
  isImmutable: false,
});

test.each([
  ['nobody needs it', { text: 'a', found: undefined, isNeeded: false }, 'nothing'],
  ['it is missing', { text: 'a', found: undefined, isNeeded: true }, 'create'],
  ['it is right', { text: 'a', found: map('a'), isNeeded: true }, 'in-place'],
  ['it is old', { text: 'a', found: map('b'), isNeeded: true }, 'update'],
  ['it is old and no pod runs', { text: 'a', found: map('b'), isNeeded: false }, 'update'],
  [
    'it has something else',
    { text: 'a', found: { ...map(''), version: undefined }, isNeeded: true },
    'update',
  ],
  ['it is a user’s', { text: 'a', found: map('b', {}), isNeeded: true }, 'foreign'],
  ['it is immutable', { text: 'a', found: { ...map('b'), isImmutable: true }, isNeeded: true }, 'immutable'],
  [
    'it is immutable and right',
    { text: 'a', found: { ...map('a'), isImmutable: true }, isNeeded: true },
    'in-place',
  ],
  [
    'it is going',
    { text: 'a', found: map('b', { labels, deletionTimestamp: 'now' }), isNeeded: true },
    'nothing',
  ],
] as const)('where %s', (_, { text, ...situation }, step) => {
  expect(planFile({ file: { version: text }, ...situation })).toBe(step);
});
