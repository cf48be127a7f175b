import type { Status } from '../../../injection/status.ts';
import { isCanary, type Strategy } from '../../../injection/template/strategy.ts';
import { assess, backUntil, type Change, changeOf, type Health, isMade, unsettledUntil } from './health.ts';
import {
  type Candidate,
  namespaceOf,
  type PodState,
  type RolloutPod,
  relate,
  type Standing,
  standingOf,
  type Workload,
  workloadKey,
} from './pod.ts';
import type { Revision, Revisions } from './revision.ts';

/** The time of `perMinute`. */
export const MINUTE_MS = 60_000;

/** What the passes over the pods find. */
export interface Survey {
  /** Pods with the target's templates that say something about it, and what they say. */
  readonly changes: readonly Change[];
  readonly health: Health;
  /** When pods were changed or evicted in the last minute, and how many in each namespace in this rollout. */
  readonly recent: readonly number[];
  readonly recentIn: ReadonlyMap<string, number>;
  /** Pods that were changed and must stay Ready for a while; after a halt, those on their way back. */
  readonly settling: number;
  /** Candidates that are drained, and those that are not touched yet. */
  readonly draining: readonly Candidate[];
  readonly candidates: readonly Candidate[];
  /** All other pods. */
  readonly states: readonly PodState[];
  /** Pods that are drained although they stay as they are. */
  readonly stray: readonly RolloutPod[];
}

/** Looks at all pods, and tells when to look again. */
export function surveyOf(
  pods: readonly RolloutPod[],
  revisions: Revisions,
  strategy: Strategy,
  wake: Wake,
): Survey {
  const { now } = wake;
  const { target, promoted } = revisions;
  const isHalted = target.state === 'halted';
  const { withinMs, onHalt } = strategy.breaker;
  const workloads = new Map<string, Workload>();
  // A pod without a controller is a workload of its own.
  const workloadOf = (pod: RolloutPod): Workload => {
    const key = workloadKey(pod);
    const workload = workloads.get(key) ?? { key, replicas: 0, busy: 0, madeAt: 0, changed: 0 };
    workloads.set(key, workload);
    return workload;
  };
  const changes: Change[] = [];
  const [recent, created, served]: [RolloutPod[], RolloutPod[], RolloutPod[]] = [[], [], []];
  const settling = new Set<RolloutPod>();
  for (const pod of pods) {
    const workload = workloadOf(pod);
    const has = hasSet(pod, target);
    const isBack = isHalted && !has && hasSet(pod, promoted);
    const unsettled = unsettledUntil(pod, now) ?? (isBack ? backUntil(pod, withinMs, now) : undefined);
    wake.at(unsettled);
    wake.at(pod.verdict?.until);
    wake.at(pod.missedUntil);
    const isAway = isHalted && onHalt === 'back' && has && pod.isGoing;
    if (isAway || (unsettled !== undefined && (isBack || !isHalted))) settling.add(pod);
    if (!pod.isGoing) workload.replicas += 1;
    const isChange = pod.evictedAt !== undefined || (has && isOfRollout(pod, target));
    const change = isChange ? changeOf(pod, target, strategy, now) : undefined;
    if (change) {
      changes.push(change);
      workload.changed += 1;
      if (isMade(change)) workload.madeAt = Math.max(workload.madeAt, change.at);
      wake.at(change.until);
    }
    const { changedAt } = pod;
    // In a minute, not each of many namespaces has a turn.
    if (has && !isHalted && changedAt !== undefined && changedAt >= target.since) served.push(pod);
    if (changedAt !== undefined && changedAt > now - MINUTE_MS) recent.push(pod);
    else if (change && isMade(change) && change.at > now - MINUTE_MS) created.push(pod);
    if (pod.isGoing || pod.isDraining || pod.ready !== true || unsettled !== undefined) workload.busy += 1;
  }
  const [draining, candidates]: [Candidate[], Candidate[]] = [[], []];
  // A configuration has no revision that says that it failed: old changes count where pods still wait for it.
  const reconfigured = new Set<string>();
  const states: PodState[] = [];
  const stray: RolloutPod[] = [];
  for (const pod of pods) {
    const { status } = pod;
    if (status === undefined || pod.isGoing) continue;
    const workload = workloadOf(pod);
    const standing = isHalted
      ? standingBack(pod, status, revisions, strategy)
      : standingOf(pod, status, target.set, strategy, workload.replicas);
    if (standing.is === 'candidate') {
      if (pod.isConfigStale && hasSet(pod, target)) reconfigured.add(namespaceOf(pod.key));
      (pod.isDraining ? draining : candidates).push({ pod, how: standing.how, workload });
      continue;
    }
    states.push(settling.has(pod) ? { pod, is: 'under-way' } : { pod, ...standing });
    if (pod.isDraining) stray.push(pod);
  }
  const survey = { settling: settling.size, draining, candidates, states, stray };
  const evicts =
    candidates.some(({ how }) => how === 'evict') || changes.some(({ pod }) => pod.evictedAt !== undefined);
  const all = evicts ? [...recent, ...created] : recent;
  const recentIn = new Map<string, number>();
  for (const { key } of new Set([...all, ...served, ...draining.map(({ pod }) => pod)]))
    recentIn.set(namespaceOf(key), (recentIn.get(namespaceOf(key)) ?? 0) + 1);
  // Others create new pods, too. Once all of them get the target, they are no part of its rollout.
  const isOurs = (change: Change) => change.pod.changedAt !== undefined || (evicts && isMade(change));
  const isCounted = (change: Change) =>
    isOurs(change) && (!change.isOld || reconfigured.has(namespaceOf(change.pod.key)));
  const counted = target.state === 'promoted' ? changes.filter(isCounted) : changes;
  return {
    ...survey,
    changes: counted,
    health: assess(counted, strategy.breaker),
    recent: all.map(({ evictedAt, changedAt, createdAt }) => evictedAt ?? changedAt ?? createdAt),
    recentIn,
  };
}

/** Whether a pod with the target may say something about it: it has it by a rollout or by its creation in the canary. */
function isOfRollout(pod: RolloutPod, target: Revision): boolean {
  if (target.state !== 'canary' || pod.changedAt !== undefined) return true;
  return isCanary(target.canary, pod.namespace.namespaceLabels, pod.owner?.uid);
}

/** Whether the pod has the templates of a revision. */
export function hasSet({ status, selects, namespace }: RolloutPod, { set }: Revision): boolean {
  return status !== undefined && relate(status, selects, namespace, set) === 'current';
}

/** The standing of a pod after the target was halted: pods that have it go back, others stay as they are. */
function standingBack(
  pod: RolloutPod,
  status: Status,
  { target, promoted }: Revisions,
  strategy: Strategy,
): Standing {
  if (hasSet(pod, promoted)) return { is: 'current' };
  if (!hasSet(pod, target) || strategy.breaker.onHalt === 'stop') return { is: 'left', why: 'halted' };
  // What was changed in place goes back in place, also if it is the only pod of its workload.
  const back = { ...strategy, singleReplica: 'change' as const };
  return standingOf({ ...pod, isConfigStale: false }, status, promoted.set, back, 1);
}

/** The time, and the earliest one to look again. */
export class Wake {
  readonly now: number;
  #at = Number.POSITIVE_INFINITY;

  constructor(now: number) {
    this.now = now;
  }

  at(time: number | undefined): void {
    if (time !== undefined && time < this.#at) this.#at = time;
  }

  get inMs(): number | undefined {
    return this.#at === Number.POSITIVE_INFINITY ? undefined : Math.max(0, this.#at - this.now);
  }
}
