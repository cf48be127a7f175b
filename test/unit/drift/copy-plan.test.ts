import { expect, test } from '@jest/globals';
import { COPY_LABEL, COPY_MANAGER, type ManagedConfigMap, planCopy } from '../../../src/drift/copy-plan.ts';

const SOURCE = { metadata: { namespace: 'envoy-initializer', name: 'envoy' }, data: { 'envoy.json': '{}' } };
const wroteData = (manager: string) => ({ manager, fieldsV1: { 'f:data': { 'f:envoy.json': {} } } });
const wroteLabels = (manager: string) => ({ manager, fieldsV1: { 'f:metadata': {} } });

function copy(data: Readonly<Record<string, string>>, more: object = {}): ManagedConfigMap {
  const labels = { [COPY_LABEL]: 'envoy-initializer' };
  const managedFields = [wroteData(COPY_MANAGER)];
  return { metadata: { namespace: 'web', name: 'envoy', labels, managedFields, ...more }, data };
}

const OLD = { 'envoy.json': '{"old": 1}' };

test.each<[string, Parameters<typeof planCopy>[0], ReturnType<typeof planCopy>]>([
  ['a needed one that is not there', { source: SOURCE, found: undefined, isNeeded: true }, 'create'],
  ['one that nobody needs', { source: SOURCE, found: undefined, isNeeded: false }, 'nothing'],
  ['none to copy', { source: undefined, found: undefined, isNeeded: true }, 'nothing'],
  ['none to copy any more', { source: undefined, found: copy(OLD), isNeeded: true }, 'nothing'],
  ['one behind its source', { source: SOURCE, found: copy(OLD), isNeeded: true }, 'update'],
  ['one behind that nobody needs now', { source: SOURCE, found: copy(OLD), isNeeded: false }, 'update'],
  ['one that is as its source', { source: SOURCE, found: copy(SOURCE.data), isNeeded: true }, 'nothing'],
  [
    'one whose labels somebody else wrote',
    {
      source: SOURCE,
      found: copy(OLD, { managedFields: [wroteData(COPY_MANAGER), wroteLabels('kubectl')] }),
      isNeeded: true,
    },
    'update',
  ],
  [
    'one whose data somebody else wrote',
    {
      source: SOURCE,
      found: copy(OLD, { managedFields: [wroteLabels(COPY_MANAGER), wroteData('kubectl')] }),
      isNeeded: true,
    },
    'nothing',
  ],
  ["a user's own", { source: SOURCE, found: copy(OLD, { labels: {} }), isNeeded: true }, 'nothing'],
  [
    'one that goes',
    { source: SOURCE, found: copy(OLD, { deletionTimestamp: 'now' }), isNeeded: true },
    'nothing',
  ],
])('%s', (_, situation, step) => {
  expect(planCopy(situation)).toBe(step);
});
