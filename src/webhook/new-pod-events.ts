import type { EventDetails, EventRecorder } from '../kube/events.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../kube/object.ts';

interface Held {
  readonly details: EventDetails;
  /** Milliseconds on the clock of `now`. */
  readonly since: number;
}

/** A pod that was not stored within this time is not coming: somebody else has refused it. */
const HELD_MS = 60_000;
/** Of these pods at most: nobody is to fill the memory with pods that are refused. */
const MOST_PODS = 1_000;

/**
 * Holds back the Events of pods that are being admitted until the pod is there: only then it has its uid, and
 * `kubectl describe` shows no Event without. Those of other objects go on at once.
 */
export class NewPodEvents implements EventRecorder {
  readonly #events: EventRecorder;
  /** Milliseconds, monotonic. */
  readonly #now: () => number;
  /** By the pod's key, the oldest first. */
  readonly #held = new Map<ObjectKey, Held[]>();

  constructor(events: EventRecorder, now: () => number) {
    this.#events = events;
    this.#now = now;
  }

  event(regarding: KubeObject, details: EventDetails): void {
    if (regarding.kind !== 'Pod' || regarding.metadata.uid !== undefined) {
      this.#events.event(regarding, details);
      return;
    }
    this.#letGo();
    const key = keyOf(regarding);
    const held = this.#held.get(key) ?? [];
    held.push({ details, since: this.#now() });
    this.#held.set(key, held);
  }

  /** A pod is there. */
  seen({ metadata }: KubeObject): void {
    const regarding = { apiVersion: 'v1', kind: 'Pod', metadata };
    for (const { details } of this.#held.get(keyOf(regarding)) ?? []) this.#events.event(regarding, details);
    this.#held.delete(keyOf(regarding));
  }

  #letGo(): void {
    for (const [key, [first]] of this.#held) {
      const isOver = first !== undefined && first.since + HELD_MS < this.#now();
      if (!isOver && this.#held.size < MOST_PODS) return;
      this.#held.delete(key);
    }
  }
}
