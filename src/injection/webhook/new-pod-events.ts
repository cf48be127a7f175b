import type { AdmissionRequest } from '../../kube/admission/review.ts';
import { controllerOf, type KubeObject } from '../../kube/api/object.ts';
import { cutToBytes, type EventDetails, type EventRecorder } from '../../kube/events/events.ts';
import { own, ownString } from '../../util/json.ts';
import { controllerIn } from '../podspec/pod.ts';
import type { InjectionRecord } from './inject-handler.ts';
import { oneLine } from './injection-answer.ts';

/**
 * Reports the warnings about a pod by an Event: most clients are controllers, which ignore warnings. A rejected pod
 * gets no Event: its controller reports our message and retries.
 */
export function reportInjection(events: Pick<NewPodEvents, 'expect'>, record: InjectionRecord): void {
  const { request, decision, reason, warnings } = record;
  if (request.dryRun || reason === undefined || warnings.length === 0) return;
  if (decision !== 'skipped' && decision !== 'injected') return;
  events.expect(request, {
    type: 'Warning',
    reason:
      decision === 'skipped'
        ? 'InjectionSkipped'
        : reason === 'proxy-user'
          ? 'TrafficBypassesEnvoy'
          : 'OverrideIgnored',
    // Events are grouped by object and action, not by note.
    action: reason,
    note: oneLine(record),
  });
}

/** What identifies a pod at admission and later in the cache. */
type AwaitedPod = Pick<AdmissionRequest, 'namespace' | 'name' | 'object'>;

interface Held {
  readonly details: EventDetails;
  /** Milliseconds on the clock of `now`. */
  readonly since: number;
}

/** A pod that does not appear within this time was rejected by a later admission plugin. */
const HELD_MS = 60_000;
/** Limits: keys, and Events of each, as many as one object may have at once. */
const MOST_KEYS = 1_000;
const MOST_OF_KEY = 25;
const MAX_NAME = 253;
/** How the API server generates a name: a start, cut to its length, and five of these (k8s.io/apiserver/pkg/storage/names). */
const MAX_START = 58;
const GENERATED = /^(.*)[bcdfghjklmnpqrstvwxz2456789]{5}$/;
/** As in eventObject(). */
const MAX_NOTE_BYTES = 1024;

/**
 * Holds back the Events of pods at admission until a cache has the pod. Any client may send reviews, so a review
 * alone must not cause writes. Also, a pod has no UID before it is stored.
 */
export class NewPodEvents {
  readonly #events: EventRecorder;
  /** Milliseconds, monotonic. */
  readonly #now: () => number;
  /** By the pod's key or its controller's UID, oldest first. */
  readonly #held = new Map<string, Held[]>();

  constructor(events: EventRecorder, now: () => number) {
    this.#events = events;
    this.#now = now;
  }

  /**
   * Holds an Event for the pod's controller, or for the pod if it has none. Ignores a pod with neither UID nor
   * name, not even one to be generated.
   */
  expect({ namespace, name, object }: AwaitedPod, details: EventDetails): void {
    const [metadata, controller] = [own(object, 'metadata'), controllerIn(object)];
    const given = name || ownString(metadata, 'name');
    const kind = controller ? 'owner' : given ? 'pod' : 'start';
    const start = ownString(metadata, 'generateName')?.slice(0, MAX_START);
    const id = (controller ? ownString(controller, 'uid') : given || start) ?? '';
    if (id === '' || id.length > MAX_NAME || namespace.length > MAX_NAME) return;
    this.#dropOld();
    const key = keyOf(kind, namespace, id);
    const held = this.#held.get(key) ?? [];
    if (held.length === MOST_OF_KEY) return;
    // A copy: a slice of the review would keep the whole review in memory.
    const note = Buffer.from(cutToBytes(details.note, MAX_NOTE_BYTES)).toString();
    held.push({ details: { ...details, note }, since: this.#now() });
    this.#held.set(key, held);
  }

  /** Sends the Events held for this pod, which is in the cache now. */
  seen(pod: KubeObject): void {
    if (this.#held.size === 0) return;
    const { metadata } = pod;
    const { namespace = '', name } = metadata;
    const owner = controllerOf(pod);
    if (owner) {
      const { apiVersion, kind, uid } = owner;
      const regarding = { apiVersion, kind, metadata: { namespace, name: owner.name, uid } };
      this.#send(keyOf('owner', namespace, uid), regarding);
    } else {
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata };
      this.#send(keyOf('pod', namespace, name), pod);
      const [, start] = GENERATED.exec(name) ?? [];
      // Others whose names begin like that have an Event of their own.
      if (start !== undefined) this.#send(keyOf('start', namespace, start), pod, 1);
    }
  }

  #send(key: string, regarding: KubeObject, most = MOST_OF_KEY): void {
    const held = this.#held.get(key) ?? [];
    for (const { details } of held.splice(0, most)) this.#events.event(regarding, details);
    if (held.length === 0) this.#held.delete(key);
  }

  #dropOld(): void {
    for (const [key, [first]] of this.#held) {
      const isExpired = first !== undefined && first.since + HELD_MS < this.#now();
      if (!isExpired && this.#held.size < MOST_KEYS) return;
      this.#held.delete(key);
    }
  }
}

/** For the name of a pod, the start of a generated one, or the UID of an owner. They have no spaces, so the keys are unique. */
function keyOf(kind: 'pod' | 'start' | 'owner', namespace: string, id: string): string {
  return `${kind} ${namespace} ${id}`;
}
