import { expect, test } from '@jest/globals';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { type EventDetails, eventObject, seriesKey } from '../../../../src/kube/events/events.ts';

const now = new Date('2026-01-02T03:04:05.678Z');
const source = { controller: 'envoy-initializer', instance: 'envoy-initializer-0' };
const details: EventDetails = {
  type: 'Warning',
  reason: 'Conflict',
  action: 'Inject',
  note: 'two of one name',
};
const pod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'shop', name: 'cart', uid: 'u-1', resourceVersion: '7' },
};

function make(regarding: KubeObject = pod, changed: Partial<EventDetails> = {}) {
  return eventObject(regarding, { ...details, ...changed }, source, now);
}

function keyOf(regarding: KubeObject = pod, changed: Partial<EventDetails> = {}) {
  return seriesKey(make(regarding, changed), changed);
}

test('an Event is about its object, in the namespace of it', () => {
  expect(make()).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: 'shop', name: expect.stringMatching(/^cart\.[0-9a-f]{17}$/) },
    eventTime: '2026-01-02T03:04:05.678000Z',
    type: 'Warning',
    reason: 'Conflict',
    action: 'Inject',
    note: 'two of one name',
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'cart', uid: 'u-1' },
    reportingController: 'envoy-initializer',
    reportingInstance: 'envoy-initializer-0',
  });
});

test.each([
  ['longer than a valid name', 'a'.repeat(253)],
  ['not a DNS subdomain', 'system:node'],
])('an Event has a valid name if that of its object is %s', (_, name) => {
  const event = make({ ...pod, metadata: { ...pod.metadata, name } });

  expect(event.metadata.name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(event.regarding.name).toBe(name);
});

test.each([
  ['note', 1024],
  ['reason', 128],
  ['action', 128],
] as const)('an Event has its %s cut to the %i bytes that the server takes', (field, bytes) => {
  expect(make(pod, { [field]: 'x'.repeat(bytes) })[field]).toBe('x'.repeat(bytes));
  expect(make(pod, { [field]: 'x'.repeat(bytes + 1) })[field]).toBe(`${'x'.repeat(bytes - 3)}…`);
});

test('an Event is cut between characters', () => {
  const note = `${'x'.repeat(1018)}🚢🚢🚢`;

  expect(make(pod, { note }).note).toBe(`${'x'.repeat(1018)}…`);
});

test('a repetition of an Event has the same note if each note counts', () => {
  expect(keyOf(pod, { note: 'something else', eachNote: true })).not.toBe(keyOf(pod, { eachNote: true }));
});

test.each<[string, KubeObject, Partial<EventDetails>]>([
  ['reason', pod, { reason: 'Other' }],
  ['related object', pod, { related: pod }],
  ['object’s uid', { ...pod, metadata: { ...pod.metadata, uid: 'u-2' } }, {}],
])('a repetition of an Event has the same %s', (_, regarding, changed) => {
  expect(keyOf(regarding, changed)).not.toBe(keyOf());
});
