import { expect, test } from '@jest/globals';
import { NODE_REPORTS } from '../../../../src/networks/nodes/node-objects.ts';

test('decoding a report keeps only the fields that are read', () => {
  const identity = { name: 'a', namespace: 'b', uid: 'c', resourceVersion: '7' };
  const more = { labels: { d: 'e' }, annotations: { f: 'g' }, managedFields: [{}] };
  const data = { report: '{}', other: 'h' };
  const decoded = NODE_REPORTS.decode({ metadata: { ...identity, ...more }, data });
  expect(decoded.metadata).toEqual(identity);
  expect(decoded.text).toBe('{}');
  expect(JSON.stringify(decoded)).not.toContain('"h"');
});
