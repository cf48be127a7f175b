import { describe, expect, test } from '@jest/globals';
import type { InjectionRecord } from '../../../src/injector/inject-handler.ts';
import { reportInjection } from '../../../src/injector/injection-events.ts';
import type { AwaitedPod } from '../../../src/injector/new-pod-events.ts';
import type { JsonObject } from '../../../src/json/json.ts';
import type { AdmissionRequest } from '../../../src/kube/admission/review.ts';
import type { EventDetails } from '../../../src/kube/events/events.ts';
import { podRequest } from '../../support/admission-review.ts';

function eventsOf(record: Partial<InjectionRecord>, request: Partial<AdmissionRequest> = {}) {
  const expected: (readonly [AwaitedPod, EventDetails])[] = [];
  const events = { expect: (pod: AwaitedPod, details: EventDetails) => void expected.push([pod, details]) };
  reportInjection(events, {
    decision: 'skipped',
    reason: 'conflict',
    told: ['conflict: spec.volumes[name=a]: there', 'conflict: spec.volumes[name=b]: there'],
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

describe('an Event of what became of a pod', () => {
  test('awaits a pod of the same controller, and has the text of the warning', () => {
    const ownerReferences = [owner('other'), owner('web-7bc6', { controller: true })];
    const object = podOf({ generateName: 'web-7bc6-', ownerReferences });
    expect(eventsOf({}, { name: undefined, namespace: 'shop', object })).toEqual([
      [
        { namespace: 'shop', name: undefined, ownerUid: 'uid-of-web-7bc6' },
        {
          type: 'Warning',
          reason: 'InjectionSkipped',
          action: 'conflict',
          note: 'no sidecar: conflict: spec.volumes[name=a]: there; conflict: spec.volumes[name=b]: there',
        },
      ],
    ]);
  });

  test('awaits the pod of that name where nothing controls it', () => {
    const pod = { namespace: 'default', name: 'one', ownerUid: undefined };
    expect(eventsOf({}, { name: 'one', object: podOf({ ownerReferences: [owner('x')] }) })).toMatchObject([
      [pod, {}],
    ]);
    expect(eventsOf({}, { name: undefined, object: podOf({ name: 'one' }) })).toMatchObject([[pod, {}]]);
  });

  test('says what was passed over of a pod that has its sidecar', () => {
    const told = ['invalid-override: annotation x is "y": write z'];
    expect(eventsOf({ decision: 'injected', reason: 'invalid-override', told })).toMatchObject([
      [{ name: 'myapp-pod' }, { reason: 'OverrideIgnored', action: 'invalid-override', note: told[0] }],
    ]);
  });

  test.each<[string, Partial<InjectionRecord>, Partial<AdmissionRequest>]>([
    ['a dry run', {}, { dryRun: true }],
    ['what is worth no warning', { reason: 'opted-out', told: [] }, {}],
    ['a pod with its sidecar', { decision: 'injected', reason: undefined, told: [] }, {}],
    ['a pod that is refused: its controller tells', { decision: 'denied' }, {}],
    ['a pod that is not admitted: its controller tells', { decision: 'failed', reason: 'no-template' }, {}],
  ])('there is none for %s', (_, record, request) => {
    expect(eventsOf(record, request)).toEqual([]);
  });
});
