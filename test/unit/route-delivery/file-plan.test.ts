import { expect, test } from '@jest/globals';
import { planFile } from '../../../src/route-delivery/file-plan.ts';
import { ROUTES_LABEL } from '../../../src/route-delivery/resources.ts';
import { MAX_BYTES } from '../../../src/routing/left-out.ts';

const labels = { [ROUTES_LABEL]: 'home' };
const map = (text: string, metadata: object = { labels }) => ({
  metadata: { name: 'envoy-routes', ...metadata },
  data: { 'rds.json': text },
});
const long = 'x'.repeat(MAX_BYTES + 1);

test.each([
  ['nobody needs it', { text: 'a', found: undefined, isNeeded: false }, 'nothing'],
  ['it is missing', { text: 'a', found: undefined, isNeeded: true }, 'create'],
  ['it is right', { text: 'a', found: map('a'), isNeeded: true }, 'in-place'],
  [
    'it is right but for another file',
    { text: 'a', found: { ...map('a'), data: { 'rds.json': 'a', b: '' } }, isNeeded: true },
    'update',
  ],
  ['it is old', { text: 'a', found: map('b'), isNeeded: true }, 'update'],
  ['it is old and no pod runs', { text: 'a', found: map('b'), isNeeded: false }, 'update'],
  [
    'it is emptied',
    { text: 'a', found: { metadata: { name: 'envoy-routes', labels } }, isNeeded: true },
    'update',
  ],
  ['it is a user’s', { text: 'a', found: map('b', {}), isNeeded: true }, 'foreign'],
  ['it is immutable', { text: 'a', found: { ...map('b'), immutable: true }, isNeeded: true }, 'immutable'],
  [
    'it is immutable and right',
    { text: 'a', found: { ...map('a'), immutable: true }, isNeeded: true },
    'in-place',
  ],
  [
    'it is going',
    { text: 'a', found: map('b', { labels, deletionTimestamp: 'now' }), isNeeded: true },
    'nothing',
  ],
  ['it grows too large', { text: long, found: map('b'), isNeeded: true }, 'too-large'],
  ['it would be too large', { text: long, found: undefined, isNeeded: true }, 'too-large'],
  ['it is too large and shrinks', { text: long, found: map(`${long}x`), isNeeded: true }, 'update'],
] as const)('where %s', (_, situation, step) => {
  expect(planFile(situation)).toBe(step);
});
