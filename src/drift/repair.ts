import { ApiError, isNotFound } from '../kube/api/api-error.ts';
import { PODS } from '../kube/api/core-resources.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../kube/api/object.ts';
import { resourcePath } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Reconcile } from '../kube/controller/controller.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import type { RepairBreaker } from './repair-breaker.ts';

/** How long a workload may take to make a new pod. */
const REPLACEMENT_MS = 5 * 60_000;
/** When to look again, where no event will tell that it may go on. */
const BUSY_RETRY_MS = 2_000;
const STOPPED_RETRY_MS = 5_000;

export interface RepairOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly breaker: RepairBreaker;
  /** The pod of a key, if it is missed. */
  readonly missed: (key: ObjectKey) => KubeObject | undefined;
  /** UIDs of the pods of a controller. */
  readonly podsOf: (controllerUid: string) => ReadonlySet<string>;
  readonly windowMs: number;
  /** What keeps this process from injecting; undefined when nothing does. */
  readonly unhealthy: () => string | undefined;
  readonly events: EventRecorder;
  /** Told each time why nothing is evicted, or that there is no such reason. */
  readonly onObstacle: (why: string | undefined) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Evicts pods that were admitted without their sidecar, so that their controller makes new ones: as many as the breaker
 * lets, one of a workload at a time, within their disruption budgets. To be run by one worker.
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
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller)?.uid ?? '';
    const siblings = podsOf(controller);
    const outcome = await evict(client, pod, signal);
    if (outcome === 'refused') return { requeueAfterMs: STOPPED_RETRY_MS };
    if (outcome === 'evicted') {
      breaker.evicted(controller, siblings, now());
      const note = `${keyOf(pod)} was created without its sidecar: evicted, so that a new one gets it`;
      events.event(
        { apiVersion: 'v1', kind: 'Pod', ...pod },
        { type: 'Normal', reason: 'EvictedForSidecar', action: 'Evict', note },
      );
    }
    return {};
  };
}

/**
 * Evicts a pod by the Eviction API (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/), if it is
 * still the one of this UID. `refused` where a PodDisruptionBudget does not allow it now.
 */
async function evict(
  client: Pick<KubeClient, 'request'>,
  { metadata: { namespace, name, uid } }: KubeObject,
  signal: AbortSignal,
): Promise<'evicted' | 'refused' | 'gone'> {
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  try {
    await client.request('POST', resourcePath(PODS, { namespace, name }, 'eviction'), { body, signal });
    return 'evicted';
  } catch (err) {
    if (err instanceof ApiError && err.status === 429) return 'refused';
    // 409: another pod has its name by now.
    if (isNotFound(err) || (err instanceof ApiError && err.status === 409)) return 'gone';
    throw err;
  }
}

/** Why a missed pod is reported and not evicted. */
type Spared = 'no-controller' | 'job' | 'too-old' | 'workload-busy' | 'going';

export interface RepairRules {
  /** Milliseconds since its creation during which a pod may be evicted: labelling a live namespace evicts nobody. */
  readonly windowMs: number;
  /** UIDs of the controllers of which a pod is being replaced. */
  readonly busy: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Why a missed pod is not to be evicted now; undefined when it may be. */
export function spared({ metadata }: KubeObject, { windowMs, busy, now }: RepairRules): Spared | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (metadata.deletionTimestamp !== undefined) return 'going';
  if (owner === undefined) return 'no-controller';
  // A Job counts an evicted pod as a failed one.
  if (owner.kind === 'Job') return 'job';
  if (now - Date.parse(metadata.creationTimestamp ?? '') > windowMs) return 'too-old';
  return busy.has(owner.uid) ? 'workload-busy' : undefined;
}
