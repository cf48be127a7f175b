import { beforeEach, expect, test } from '@jest/globals';
import type { EventDetails } from '../../../src/kube/events.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { NewPodEvents } from '../../../src/webhook/new-pod-events.ts';

let now: number;
let told: string[];
let events: NewPodEvents;

beforeEach(() => {
  now = 0;
  told = [];
  events = new NewPodEvents(
    {
      event: ({ kind, metadata }, { action }) =>
        told.push(`${kind} ${metadata.name} ${metadata.uid} ${action}`),
    },
    () => now,
  );
});

const details = (action: string): EventDetails => ({
  type: 'Warning',
  reason: 'InjectionSkipped',
  action,
  note: '',
});
const pod = (name: string, uid?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'web', name, ...(uid !== undefined && { uid }) },
});

test('an Event of a pod that is being admitted waits for the pod, and has its uid', () => {
  events.event(pod('a'), details('conflict'));
  events.event(pod('a'), details('invalid-value'));
  events.seen(pod('b', 'uid-b'));
  expect(told).toEqual([]);
  events.seen(pod('a', 'uid-a'));
  expect(told).toEqual(['Pod a uid-a conflict', 'Pod a uid-a invalid-value']);
});

test('it is told once: a later pod of the same name has nothing to do with it', () => {
  events.event(pod('a'), details('conflict'));
  events.seen(pod('a', 'uid-a'));
  events.seen(pod('a', 'another'));
  expect(told).toEqual(['Pod a uid-a conflict']);
});

test('an Event of what is there goes on at once', () => {
  events.event({ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'web' } }, details('conflict'));
  events.event(pod('a', 'uid-a'), details('conflict'));
  expect(told).toEqual(['ReplicaSet web undefined conflict', 'Pod a uid-a conflict']);
});

test('pods that never come are forgotten: after a minute, and the oldest where there are too many', () => {
  events.event(pod('refused'), details('conflict'));
  now = 60_001;
  for (let n = 0; n < 1_001; n += 1) events.event(pod(`flood-${n}`), details('conflict'));
  for (const name of ['refused', 'flood-0', 'flood-1', 'flood-1000']) events.seen(pod(name, 'uid'));
  expect(told).toEqual(['Pod flood-1 uid conflict', 'Pod flood-1000 uid conflict']);
});
