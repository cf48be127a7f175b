import { type CachedPod, controllerKey } from '../../injection/webhook/pod-cache.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import { controllerOf, type KubeObject, keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { evict } from '../../kube/client/evict.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';

/** How long a workload may take to create the replacement. */
const REPLACEMENT_MS = 5 * 60_000;
/** Delays before a retry if no event announces that repair may continue. */
const BUSY_RETRY_MS = 2_000;
const STOPPED_RETRY_MS = 5_000;

export interface RepairOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly breaker: RepairBreaker;
  /** The pod of the key if it is missed. */
  readonly missed: (key: ObjectKey) => KubeObject | undefined;
  readonly podsOf: (controller: string) => readonly CachedPod[];
  readonly windowMs: number;
  /** Why this process cannot inject; undefined if it can. */
  readonly unhealthy: () => string | undefined;
  readonly events: EventRecorder;
  /** Called on each attempt with the reason why nothing is evicted; undefined if there is none. */
  readonly onObstacle: (why: string | undefined) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Evicts pods that were admitted without their sidecar, so that their controller recreates them. Evicts as many as
 * the breaker allows, one per workload at a time, within their disruption budgets. Needs exactly one worker.
 */
export function repairReconcile(options: RepairOptions): Reconcile {
  const { client, breaker, missed, podsOf, windowMs, unhealthy, events, onObstacle, now } = options;

  return async (key, signal) => {
    const pod = missed(key);
    if (pod === undefined) return {};
    breaker.giveUp(now() - REPLACEMENT_MS);
    const why = spared(pod, windowMs, breaker.busy, now());
    if (why !== undefined) return why === 'workload-busy' ? { requeueAfterMs: BUSY_RETRY_MS } : {};
    const controller = controllerKey(pod);
    const siblings = podsOf(controller);
    const since = Math.max(createdAt(pod), now() - REPLACEMENT_MS);
    // A younger one is perhaps the last replacement, and no further pod should be down with it.
    const isStarting = ({ isReady, metadata }: CachedPod) =>
      !(isReady || metadata.deletionTimestamp || missed(keyOf({ metadata }))) &&
      createdAt({ metadata }) >= since;
    if (siblings.some(isStarting)) return { requeueAfterMs: BUSY_RETRY_MS };
    const obstacle = unhealthy() ?? breaker.stopped;
    onObstacle(obstacle);
    if (unhealthy() !== undefined || !breaker.mayEvict(now()))
      return { requeueAfterMs: obstacle === undefined ? BUSY_RETRY_MS : STOPPED_RETRY_MS };
    breaker.evicting(controller, new Set(siblings.map(({ metadata }) => metadata.uid ?? '')), now());
    let outcome: Awaited<ReturnType<typeof evict>> | undefined;
    try {
      outcome = await evict(client, pod, { signal });
    } finally {
      if (outcome !== 'evicted') breaker.notEvicted(controller);
    }
    if (outcome !== 'evicted') return outcome === 'refused' ? { requeueAfterMs: STOPPED_RETRY_MS } : {};
    const note = `${keyOf(pod)} was created without its sidecar: evicted so that its replacement gets one`;
    const details = { type: 'Normal', reason: 'EvictedForSidecar', action: 'Evict', note } as const;
    events.event(regardingOf(PODS, pod), details);
    return {};
  };
}

/** Milliseconds since 1970. */
const createdAt = ({ metadata }: KubeObject) => Date.parse(metadata.creationTimestamp ?? '');

/** Why a missed pod must not be evicted now; undefined if it may. `busy`: the controllers that are replacing a pod. */
export function spared({ metadata }: KubeObject, windowMs: number, busy: ReadonlySet<string>, now: number) {
  const owner = controllerOf({ metadata });
  if (metadata.deletionTimestamp !== undefined) return 'going';
  if (owner === undefined) return 'no-controller';
  // A Job counts an evicted pod as a failed one.
  if (owner.kind === 'Job') return 'job';
  // Labelling a live namespace must not evict its pods.
  if (now - createdAt({ metadata }) > windowMs) return 'too-old';
  return busy.has(controllerKey({ metadata })) ? 'workload-busy' : undefined;
}

/** At most this many workloads may have a pod replaced at the same time. */
const MOST = 8;
/** Delay before a trial eviction after a stop, doubled after each failure. Otherwise no new pod may ever appear. */
const FIRST_TRIAL_MS = 10_000;

/**
 * Keeps repair from doing harm while injection does not work. It starts with one eviction at a time. The limit
 * doubles after each replacement with a sidecar. A replacement without one stops repair until a later pod has a
 * sidecar.
 */
export class RepairBreaker {
  #allowed = 1;
  #trialMs = FIRST_TRIAL_MS;
  #stopped: { readonly why: string; readonly at: number } | undefined;
  /** Controllers with an evicted pod: the UIDs of their pods at that time, and the time. */
  readonly #replacing = new Map<string, { readonly pods: ReadonlySet<string>; readonly since: number }>();

  /** Why repair has stopped; undefined while it has not. */
  get stopped(): string | undefined {
    return this.#stopped?.why;
  }

  /** Controllers that are replacing a pod. */
  get busy(): ReadonlySet<string> {
    return new Set(this.#replacing.keys());
  }

  /** Whether one more pod may be evicted now. */
  mayEvict(now: number): boolean {
    const isHeld = this.#stopped !== undefined && now < this.#stopped.at + this.#trialMs;
    return !isHeld && this.#replacing.size < this.#allowed;
  }

  /**
   * Records the eviction of a pod of this controller, before it is asked for: the replacement may be seen before the
   * answer. `pods` are the UIDs of all its pods.
   */
  evicting(controller: string, pods: ReadonlySet<string>, now: number): void {
    this.#replacing.set(controller, { pods, since: now });
  }

  /** Records a pod of this controller, with or without a sidecar; undefined: it asks for none. Returns whether it is the awaited replacement. */
  seen(
    controller: string,
    pod: { readonly uid: string; readonly createdAt: number; readonly injected: boolean | undefined },
    now: number,
  ): boolean {
    // A newer pod with a sidecar proves that injection works again.
    if (pod.injected && this.#stopped && pod.createdAt > this.#stopped.at) {
      this.#stopped = undefined;
      this.#trialMs = FIRST_TRIAL_MS;
    }
    const replaced = this.#replacing.get(controller);
    if (!replaced || replaced.pods.has(pod.uid)) return false;
    this.#replacing.delete(controller);
    if (pod.injected) this.#allowed = Math.min(MOST, this.#allowed * 2);
    else if (pod.injected === false) {
      if (this.#stopped) this.#trialMs *= 2;
      this.#stopped = {
        why: 'the replacement of an evicted pod has no sidecar, or lacks its status annotation',
        at: now,
      };
      this.#allowed = 1;
    }
    return true;
  }

  /** Records that the pod was not evicted. */
  notEvicted(controller: string): void {
    this.#replacing.delete(controller);
  }

  /** Returns to the initial state. */
  reset(): void {
    this.#allowed = 1;
    this.#trialMs = FIRST_TRIAL_MS;
    this.#stopped = undefined;
    this.#replacing.clear();
  }

  /** Stops waiting for older replacements. A workload that was scaled down or creates no pods proves nothing. */
  giveUp(before: number): void {
    for (const [controller, { since }] of this.#replacing)
      if (since < before) this.#replacing.delete(controller);
  }
}
