import type { KubeObject } from '../kube/api/object.ts';
import { cutToBytes } from '../kube/events/cut-to-bytes.ts';
import type { EventDetails, EventRecorder } from '../kube/events/events.ts';

/** By what a pod that is being admitted is known again once it is there. */
export interface AwaitedPod {
  readonly namespace: string;
  /** Pods of a workload have none yet. */
  readonly name: string | undefined;
  /** Of its controller. */
  readonly ownerUid: string | undefined;
}

interface Held {
  readonly details: EventDetails;
  /** Milliseconds on the clock of `now`. */
  readonly since: number;
}

/** A pod that was not stored within this time is not coming: an admission after ours has refused it. */
const HELD_MS = 60_000;
/** Keys at most, and Events of each: as many as one object may have at once. */
const MOST_KEYS = 1_000;
const MOST_OF_KEY = 25;
const MAX_NAME = 253;
/** As in eventObject(). */
const MAX_NOTE_BYTES = 1024;

/**
 * Holds back the Events of pods that are being admitted until a cache has the pod. Anyone may send reviews: nothing is
 * written about an object of which only a review speaks. And a pod has its uid only then.
 */
export class NewPodEvents {
  readonly #events: EventRecorder;
  /** Milliseconds, monotonic. */
  readonly #now: () => number;
  /** By the pod's key or its controller's uid, the oldest first. */
  readonly #held = new Map<string, Held[]>();

  constructor(events: EventRecorder, now: () => number) {
    this.#events = events;
    this.#now = now;
  }

  /** An Event of the pod's controller, or of the pod where it has none. Of a pod with neither uid nor name there is none. */
  expect({ namespace, name, ownerUid }: AwaitedPod, details: EventDetails): void {
    const id = ownerUid ?? name ?? '';
    if (id === '' || id.length > MAX_NAME || namespace.length > MAX_NAME) return;
    this.#letGo();
    const key = ownerUid === undefined ? podKey(namespace, id) : ownerKey(namespace, id);
    const held = this.#held.get(key) ?? [];
    if (held.length === MOST_OF_KEY) return;
    // A copy: a text that was cut out of a review would keep all of it.
    const note = Buffer.from(cutToBytes(details.note, MAX_NOTE_BYTES)).toString();
    held.push({ details: { ...details, note }, since: this.#now() });
    this.#held.set(key, held);
  }

  /** A pod is there. */
  seen({ metadata }: KubeObject): void {
    if (this.#held.size === 0) return;
    const { namespace = '', name } = metadata;
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner) {
      const { apiVersion, kind, uid } = owner;
      const regarding = { apiVersion, kind, metadata: { namespace, name: owner.name, uid } };
      this.#tell(ownerKey(namespace, uid), regarding);
    } else {
      this.#tell(podKey(namespace, name), { apiVersion: 'v1', kind: 'Pod', metadata });
    }
  }

  #tell(key: string, regarding: KubeObject): void {
    for (const { details } of this.#held.get(key) ?? []) this.#events.event(regarding, details);
    this.#held.delete(key);
  }

  #letGo(): void {
    for (const [key, [first]] of this.#held) {
      const isOver = first !== undefined && first.since + HELD_MS < this.#now();
      if (!isOver && this.#held.size < MOST_KEYS) return;
      this.#held.delete(key);
    }
  }
}

/** No name has a space. */
function podKey(namespace: string, name: string): string {
  return `pod ${namespace} ${name}`;
}

function ownerKey(namespace: string, uid: string): string {
  return `owner ${namespace} ${uid}`;
}
