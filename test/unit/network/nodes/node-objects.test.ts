import { expect, test } from '@jest/globals';
import { NODE_REPORTS, NODE_TABLES } from '../../../../src/network/nodes/node-objects.ts';

test.each([
  ['the table', NODE_TABLES, 'nodes'],
  ['a report', NODE_REPORTS, 'report'],
])('decoding %s keeps only the fields that are read', (_, resource, key) => {
  const identity = { name: 'a', namespace: 'b', uid: 'c', resourceVersion: '7' };
  const more = { labels: { d: 'e' }, annotations: { f: 'g' }, managedFields: [{}] };
  const data = { [key]: '{}', other: 'h' };
  const decoded = resource.decode({ metadata: { ...identity, ...more }, data });
  expect(decoded.metadata).toEqual(identity);
  expect(decoded.text).toBe('{}');
  expect(JSON.stringify(decoded)).not.toContain('"h"');
});
