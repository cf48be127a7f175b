import { randomBytes, randomUUID } from 'node:crypto';
import { microTime } from '../api/micro-time.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf, decodeObject, type Resource } from '../api/resource.ts';
import type { EventDetails } from './events.ts';

/** The object of an Event. Without a resourceVersion: a series continues when its object changes. */
interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** events.k8s.io/v1 Event. After its creation, only the series changes. */
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

/** The reporter of an Event. */
export interface EventSource {
  /** A qualified name, such as `envoy-initializer`. */
  readonly controller: string;
  /** The process of the controller: the pod's name. */
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
const MAX_FIELD = 128;
const MAX_NOTE = 1024;
const MAX_NAME = 253;
const ELLIPSIS = '…';
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** @throws TypeError for an object without apiVersion and kind: items of a list come without. */
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
    // The server requires `default` for Events of cluster-scoped objects.
    metadata: { namespace: namespace || 'default', name: eventName(name, now) },
    eventTime: microTime(now),
    type: details.type,
    reason: cutToBytes(details.reason, MAX_FIELD),
    action: cutToBytes(details.action, MAX_FIELD),
    note: cutToBytes(details.note, MAX_NOTE),
    regarding: referenceTo(regarding),
    ...(details.related && { related: referenceTo(details.related) }),
    reportingController: source.controller,
    reportingInstance: cutToBytes(source.instance, MAX_FIELD),
  };
}

/**
 * The key of a series: Events with the same key repeat each other, whatever their notes (tools/events getKey), unless
 * each note counts.
 */
export function seriesKey(event: EventObject, { eachNote = false }: Pick<EventDetails, 'eachNote'>): string {
  const { type, action, reason, reportingController, reportingInstance, regarding, related } = event;
  const key = [type, action, reason, reportingController, reportingInstance, regarding, related];
  return JSON.stringify(eachNote ? [...key, event.note] : key);
}

function referenceTo({ apiVersion, kind, metadata: { namespace, name, uid } }: KubeObject): ObjectReference {
  if (!apiVersion || !kind) {
    throw new TypeError(`expected an object with apiVersion and kind for an Event, got ${name} without`);
  }
  return { apiVersion, kind, ...(namespace && { namespace }), name, ...(uid && { uid }) };
}

/**
 * A unique name. It begins with the object's name if that is valid for an Event (unlike `system:node`), as client-go's.
 */
function eventName(objectName: string, now: Date): string {
  const name = `${objectName}.${now.getTime().toString(16)}${randomBytes(3).toString('hex')}`;
  return name.length <= MAX_NAME && DNS_SUBDOMAIN.test(name) ? name : randomUUID();
}

/** The text, cut with an ellipsis to at most `maxBytes` bytes of UTF-8, between two characters. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const room = new Uint8Array(maxBytes - Buffer.byteLength(ELLIPSIS));
  const { read } = new TextEncoder().encodeInto(text, room);
  return text.slice(0, read) + ELLIPSIS;
}
