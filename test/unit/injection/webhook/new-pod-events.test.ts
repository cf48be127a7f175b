import { beforeEach, expect, test } from '@jest/globals';
import type { InjectionRecord } from '../../../../src/injection/webhook/inject-handler.ts';
import { NewPodEvents, reportInjection } from '../../../../src/injection/webhook/new-pod-events.ts';
import type { AdmissionRequest } from '../../../../src/kube/admission/review.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { EventDetails } from '../../../../src/kube/events/events.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';

let now: number;
let sent: string[];
let notes: string[];
let events: NewPodEvents;

beforeEach(() => {
  now = 0;
  sent = [];
  notes = [];
  const recorder = {
    event({ kind, metadata }: KubeObject, { action, note }: EventDetails) {
      sent.push(`${kind} ${metadata.namespace}/${metadata.name} ${metadata.uid} ${action}`);
      notes.push(note);
    },
  };
  events = new NewPodEvents(recorder, () => now);
});

const details = (action: string, note = ''): EventDetails => ({
  type: 'Warning',
  reason: 'InjectionSkipped',
  action,
  note,
});
type AwaitedPod = Pick<AdmissionRequest, 'namespace' | 'name' | 'object'>;
const awaited = (metadata: JsonObject, namespace = 'web'): AwaitedPod => ({
  ...{ namespace, name: undefined, object: { metadata } },
});
const named = (name: string): AwaitedPod => ({ ...awaited({}), name });
const owned = (uid: string, namespace = 'web'): AwaitedPod =>
  awaited({ ownerReferences: [{ uid, controller: true }] }, namespace);

function pod(name: string, uid: string, ownerUid?: string): KubeObject {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop' };
  const ownerReferences = ownerUid === undefined ? [] : [{ ...owner, uid: ownerUid, controller: true }];
  return { metadata: { namespace: 'web', name, uid, ownerReferences } };
}

test('NewPodEvents holds the Event of a pod until the pod is in the cache, and adds its UID', () => {
  events.expect(named('a'), details('conflict'));
  events.expect(named('a'), details('invalid-value'));
  events.seen(pod('b', 'uid-b'));
  expect(sent).toEqual([]);
  events.seen(pod('a', 'uid-a'));
  expect(sent).toEqual(['Pod web/a uid-a conflict', 'Pod web/a uid-a invalid-value']);
});

test('NewPodEvents sends an Event once, also if a later pod has the same name', () => {
  events.expect(named('a'), details('conflict'));
  events.seen(pod('a', 'uid-a'));
  events.seen(pod('a', 'another'));
  expect(sent).toEqual(['Pod web/a uid-a conflict']);
});

test('NewPodEvents holds the Event of a controller until one of its pods is in the cache', () => {
  events.expect(owned('uid-of-shop'), details('conflict'));
  events.expect(owned('uid-of-shop'), details('conflict'));
  events.seen(pod('other-1', '1', 'uid-of-other'));
  events.seen(pod('uid-of-shop', '2'));
  expect(sent).toEqual([]);
  events.seen(pod('shop-1', '3', 'uid-of-shop'));
  const event = 'ReplicaSet web/shop uid-of-shop conflict';
  expect(sent).toEqual([event, event]);
});

test('NewPodEvents holds the Event of a pod with a generated name until such a pod is in the cache', () => {
  const start = 'a'.repeat(60);
  events.expect(awaited({ generateName: start }), details('conflict'));
  events.expect(awaited({ generateName: start }), details('invalid-value'));
  const cut = start.slice(0, 58);
  for (const suffix of ['', '-main', 'xk2b']) events.seen(pod(`${cut}${suffix}`, 'other'));
  expect(sent).toEqual([]);
  events.seen(pod(`${cut}x4k2b`, 'uid-1'));
  events.seen(pod(`${cut}zzzzz`, 'uid-2'));
  events.seen(pod(`${cut}22222`, 'uid-3'));
  expect(sent).toEqual([`Pod web/${cut}x4k2b uid-1 conflict`, `Pod web/${cut}zzzzz uid-2 invalid-value`]);
});

test.each<[string, AwaitedPod]>([
  ['in another namespace', owned('uid-of-shop', 'elsewhere')],
  ['with no name and no owner', awaited({})],
  [
    'with an owner without a uid',
    { ...awaited({ ownerReferences: [{ controller: true }] }), name: 'shop-1' },
  ],
  ['with a name that is too long', named('a'.repeat(254))],
])('NewPodEvents sends no Event about a pod %s', (_, awaited) => {
  events.expect(awaited, details('conflict'));
  events.seen(pod('shop-1', '1', 'uid-of-shop'));
  events.seen(pod(awaited.name ?? '', '2'));
  expect(sent).toEqual([]);
});

test('NewPodEvents forgets pods that do not appear within a minute, and the oldest if there are too many', () => {
  events.expect(named('refused'), details('conflict'));
  now = 60_001;
  for (let n = 0; n < 1_001; n += 1) events.expect(named(`flood-${n}`), details('conflict'));
  for (const name of ['refused', 'flood-0', 'flood-1', 'flood-1000']) events.seen(pod(name, 'uid'));
  expect(sent).toEqual(['Pod web/flood-1 uid conflict', 'Pod web/flood-1000 uid conflict']);
});

test('NewPodEvents holds at most 25 Events of one owner, each with a note of at most 1,024 bytes', () => {
  for (let n = 0; n < 100; n += 1)
    events.expect(owned('uid-of-shop'), details('conflict', 'a'.repeat(5_000)));
  events.seen(pod('shop-1', '1', 'uid-of-shop'));
  expect(notes).toHaveLength(25);
  expect(Math.max(...notes.map((note) => Buffer.byteLength(note)))).toBe(1024);
});

function eventsOf(record: Partial<InjectionRecord>, request: Partial<AdmissionRequest> = {}) {
  const expected: (readonly [AwaitedPod, EventDetails])[] = [];
  const events = { expect: (pod: AwaitedPod, details: EventDetails) => void expected.push([pod, details]) };
  reportInjection(events, {
    decision: 'skipped',
    reason: 'conflict',
    warnings: ['conflict: spec.volumes[name=a]: there', 'conflict: spec.volumes[name=b]: there'],
    operations: [],
    milliseconds: 1,
    request: podRequest(request),
    ...record,
  });
  return expected;
}

const owner = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name,
  uid: `uid-of-${name}`,
  ...more,
});
const podOf = (metadata: JsonObject): JsonObject => ({ metadata, spec: { containers: [] } });

test('reportInjection expects the pod of the request, with the text of the warning', () => {
  const ownerReferences = [owner('other'), owner('web-7bc6', { controller: true })];
  const object = podOf({ generateName: 'web-7bc6-', ownerReferences });
  expect(eventsOf({}, { name: undefined, namespace: 'shop', object })).toEqual([
    [
      expect.objectContaining({ namespace: 'shop', object }),
      {
        type: 'Warning',
        reason: 'InjectionSkipped',
        action: 'conflict',
        note: 'no sidecar: conflict: spec.volumes[name=a]: there; conflict: spec.volumes[name=b]: there',
      },
    ],
  ]);
});

test.each([
  ['invalid-override', 'OverrideIgnored'],
  ['proxy-user', 'TrafficBypassesEnvoy'],
] as const)('reportInjection reports the warning of an injected pod: %s', (reason, event) => {
  const warnings = [`${reason}: annotation x is "y": write z`];
  expect(eventsOf({ decision: 'injected', reason, warnings })).toMatchObject([
    [
      { object: { metadata: { name: 'myapp-pod' } } },
      {
        reason: event,
        action: reason,
        note: `sidecar added: ${warnings[0]}`,
      },
    ],
  ]);
});
