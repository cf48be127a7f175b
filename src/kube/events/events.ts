import { randomBytes, randomUUID } from 'node:crypto';
import { type KubeObject, microTime } from '../api/object.ts';
import { apiVersionOf, kindOf } from '../api/resource.ts';

export interface EventDetails {
  readonly type: 'Normal' | 'Warning';
  /** The reason, as a PascalCase word that programs may match: `InvalidTemplate`. At most 128 bytes. */
  readonly reason: string;
  /** The action that was done or refused, as a PascalCase word: `Inject`. At most 128 bytes. */
  readonly action: string;
  /** A text for users, cut to 1024 bytes. */
  readonly note: string;
  /** Whether another note makes another Event, because it says what holds now. By default it is a repetition. */
  readonly eachNote?: boolean;
  /** Another object that is involved, such as the Network of a pod. */
  readonly related?: KubeObject;
}

/** Records what happens to objects. `kubectl describe` and `kubectl get events` show it. */
export interface EventRecorder {
  /** Queues the Event and returns at once. Never throws: a lost Event must not fail other work. */
  event(regarding: KubeObject, details: EventDetails): void;
}

/** The reporter of an Event. */
export interface EventSource {
  /** A qualified name, such as `envoy-initializer`. */
  readonly controller: string;
  /** The process of the controller: the pod's name. */
  readonly instance: string;
}

export const EVENTS = kindOf('events.k8s.io/v1', 'Event');

// kubernetes pkg/apis/core/validation/events.go; all in bytes.
const MAX_FIELD = 128;
const MAX_NOTE = 1024;
const MAX_NAME = 253;
const ELLIPSIS = '…';
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** events.k8s.io/v1 Event. After its creation, only the series changes. */
export type EventObject = ReturnType<typeof eventObject>;

/** @throws TypeError for an object without apiVersion and kind: items of a list come without. */
export function eventObject(regarding: KubeObject, details: EventDetails, source: EventSource, now: Date) {
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

/** The object of an Event. Without a resourceVersion: a series continues when its object changes. */
function referenceTo({ apiVersion, kind, metadata: { namespace, name, uid } }: KubeObject) {
  if (!apiVersion || !kind) {
    throw new TypeError(`expected an object with apiVersion and kind for an Event, got ${name}`);
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
