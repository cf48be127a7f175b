import { describe, expect, test } from '@jest/globals';
import type { InjectionRecord } from '../../../../src/injection/webhook/inject-handler.ts';
import type { AwaitedPod } from '../../../../src/injection/webhook/new-pod-events.ts';
import { reportInjection } from '../../../../src/injection/webhook/new-pod-events.ts';
import type { AdmissionRequest } from '../../../../src/kube/admission/review.ts';
import type { EventDetails } from '../../../../src/kube/events/events.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';

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

describe('reportInjection', () => {
  test('expects a pod of the same controller, with the text of the warning', () => {
    const ownerReferences = [owner('other'), owner('web-7bc6', { controller: true })];
    const object = podOf({ generateName: 'web-7bc6-', ownerReferences });
    expect(eventsOf({}, { name: undefined, namespace: 'shop', object })).toEqual([
      [
        { namespace: 'shop', name: undefined, generateName: 'web-7bc6-', ownerUid: 'uid-of-web-7bc6' },
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
  ] as const)('reports the warning of an injected pod: %s', (reason, event) => {
    const warnings = [`${reason}: annotation x is "y": write z`];
    expect(eventsOf({ decision: 'injected', reason, warnings })).toMatchObject([
      [
        { name: 'myapp-pod' },
        {
          reason: event,
          action: reason,
          note: `sidecar added: ${warnings[0]}`,
        },
      ],
    ]);
  });
});
