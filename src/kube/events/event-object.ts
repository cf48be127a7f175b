import { randomBytes, randomUUID } from 'node:crypto';
import { microTime } from '../api/micro-time.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf, decodeObject, type Resource } from '../api/resource.ts';
import { cutToBytes } from './cut-to-bytes.ts';
import type { EventDetails } from './events.ts';

/** Who an Event is about. No resourceVersion: a series goes on when its object changes. */
interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** events.k8s.io/v1 Event, as it is created and, but for its series, stays. */
export interface EventObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly eventTime: string;
  readonly type: EventDetails['type'];
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  readonly reportingController: string;
  readonly reportingInstance: string;
}

/** Who reports. */
export interface EventSource {
  /** A qualified name, such as `envoy-initializer`. */
  readonly controller: string;
  /** Which process of it: the pod's name. */
  readonly instance: string;
}

export const EVENTS: Resource<KubeObject> = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  decode: decodeObject,
};

// kubernetes pkg/apis/core/validation/events.go; all in bytes.
const MAX_INSTANCE = 128;
const MAX_ACTION = 128;
const MAX_REASON = 128;
const MAX_NOTE = 1024;
const MAX_NAME = 253;

/** @throws TypeError where an object does not say what it is: items of a list come without apiVersion and kind. */
export function eventObject(
  regarding: KubeObject,
  details: EventDetails,
  source: EventSource,
  now: Date,
): EventObject {
  const { namespace, name } = regarding.metadata;
  return {
    apiVersion: apiVersionOf(EVENTS),
    kind: EVENTS.kind,
    // The Events of cluster-scoped objects are in `default`: the server allows nothing else.
    metadata: { namespace: namespace || 'default', name: eventName(name, now) },
    eventTime: microTime(now),
    type: details.type,
    reason: cutToBytes(details.reason, MAX_REASON),
    action: cutToBytes(details.action, MAX_ACTION),
    note: cutToBytes(details.note, MAX_NOTE),
    regarding: referenceTo(regarding),
    ...(details.related && { related: referenceTo(details.related) }),
    reportingController: source.controller,
    reportingInstance: cutToBytes(source.instance, MAX_INSTANCE),
  };
}

/** Events with the same key are repetitions of one another, whatever their notes (client-go tools/events getKey). */
export function seriesKey(event: EventObject): string {
  const { type, action, reason, reportingController, reportingInstance, regarding, related } = event;
  return JSON.stringify([type, action, reason, reportingController, reportingInstance, regarding, related]);
}

function referenceTo({ apiVersion, kind, metadata: { namespace, name, uid } }: KubeObject): ObjectReference {
  if (!apiVersion || !kind) {
    throw new TypeError(`expected an object with apiVersion and kind to report on, got ${name} without`);
  }
  return { apiVersion, kind, ...(namespace && { namespace }), name, ...(uid && { uid }) };
}

const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Unique; begins with the object's name unless that, `system:node` say, is none for an Event (as client-go does it). */
function eventName(objectName: string, now: Date): string {
  const name = `${objectName}.${now.getTime().toString(16)}${randomBytes(3).toString('hex')}`;
  return name.length <= MAX_NAME && DNS_SUBDOMAIN.test(name) ? name : randomUUID();
}
