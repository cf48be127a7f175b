import { controllerKey } from '../../injection/webhook/pod-cache.ts';
import { controllerOf, type KubeObject, keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { evict } from '../../kube/client/evict.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { RepairBreaker } from './repair-breaker.ts';

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
  /** UIDs of a controller's pods. */
  readonly podsOf: (controller: string) => ReadonlySet<string>;
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
    const why = spared(pod, { windowMs, busy: breaker.busy, now: now() });
    if (why !== undefined) return why === 'workload-busy' ? { requeueAfterMs: BUSY_RETRY_MS } : {};
    const obstacle = unhealthy() ?? breaker.stopped;
    onObstacle(obstacle);
    if (unhealthy() !== undefined || !breaker.mayEvict(now())) {
      return { requeueAfterMs: obstacle === undefined ? BUSY_RETRY_MS : STOPPED_RETRY_MS };
    }
    const controller = controllerKey(pod);
    const siblings = podsOf(controller);
    breaker.evicting(controller, siblings, now());
    let outcome: Awaited<ReturnType<typeof evict>> | undefined;
    try {
      outcome = await evict(client, pod, { signal });
    } finally {
      if (outcome !== 'evicted') breaker.notEvicted(controller);
    }
    if (outcome === 'refused') return { requeueAfterMs: STOPPED_RETRY_MS };
    if (outcome === 'evicted') {
      const note = `${keyOf(pod)} was created without its sidecar: evicted so that its replacement gets one`;
      events.event(
        { apiVersion: 'v1', kind: 'Pod', ...pod },
        { type: 'Normal', reason: 'EvictedForSidecar', action: 'Evict', note },
      );
    }
    return {};
  };
}

/** Why a missed pod is only reported. */
type Spared = 'no-controller' | 'job' | 'too-old' | 'workload-busy' | 'going';

export interface RepairRules {
  /** Maximum age of a pod to evict, in milliseconds: labelling a live namespace must not evict its pods. */
  readonly windowMs: number;
  /** The controllers that are replacing a pod. */
  readonly busy: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Why a missed pod must not be evicted now; undefined if it may. */
export function spared({ metadata }: KubeObject, { windowMs, busy, now }: RepairRules): Spared | undefined {
  const owner = controllerOf({ metadata });
  if (metadata.deletionTimestamp !== undefined) return 'going';
  if (owner === undefined) return 'no-controller';
  // A Job counts an evicted pod as a failed one.
  if (owner.kind === 'Job') return 'job';
  if (now - Date.parse(metadata.creationTimestamp ?? '') > windowMs) return 'too-old';
  return busy.has(controllerKey({ metadata })) ? 'workload-busy' : undefined;
}
