import { isCanary, type Strategy } from '../../../injection/template/strategy.ts';
import { type Candidate, freeIn } from './pod.ts';
import type { Decision, Revisions } from './revision.ts';
import { hasSet, type Survey, type Wake } from './survey.ts';

/** What keeps a pod from its turn for so long does not hold up the canary: its user could keep all others waiting. */
const STUCK_MS = 10 * 60_000;

/** The canary of the target, and whether it has had its chance: then nothing of it is under way, or will be soon. */
export function canaryOf(
  { draining, candidates, health }: Survey,
  { target }: Revisions,
  { maxUnavailable }: Strategy,
  wake: Wake,
) {
  const { now } = wake;
  // A clock that was set back must not make it wait.
  const begun = target.since > now ? 0 : target.since;
  /**
   * Whether a pod that serves has waited for too long for a disruption budget, or for other pods of its workload, which may
   * fail and recover again and again: since the rollout began, or got further with the workload.
   */
  const isStuck = ({ pod, workload }: Candidate): boolean => {
    if (pod.isDraining || pod.ready !== true) return false;
    const isFull = freeIn(workload, maxUnavailable) <= 0;
    const since = Math.min(
      pod.blocked?.since ?? Number.POSITIVE_INFINITY,
      isFull ? Math.max(begun, workload.madeAt) : Number.POSITIVE_INFINITY,
    );
    if (now < since + STUCK_MS) wake.at(since + STUCK_MS);
    return now >= since + STUCK_MS;
  };
  const has = ({ pod }: Candidate) => isCanary(target.canary, pod.namespace.namespaceLabels, pod.owner?.uid);
  const isTried =
    target.state === 'canary' &&
    health.pending === 0 &&
    ![...draining, ...candidates].some((each) => has(each) && each.pod.ready !== 'unknown' && !isStuck(each));
  return { has, isStuck, isTried };
}

/**
 * Whether the breaker halts the rollout before a step starts more pods: too many have failed, or any of a canary that has
 * had its chance. Undefined if not.
 */
export function haltBefore(
  { draining, candidates, health }: Survey,
  { target }: Revisions,
  { breaker }: Strategy,
  isTried: boolean,
): { readonly decision: Decision | undefined } | undefined {
  if (health.failing.length < (isTried ? 1 : breaker.failures)) return undefined;
  // A changed configuration of Envoy has no revision to go back to.
  const isNew =
    target.state !== 'promoted' || [...draining, ...candidates].some(({ pod }) => !hasSet(pod, target));
  return { decision: isNew ? { do: 'halt' } : undefined };
}

/** Whether it halts a canary of which a pod has failed once a step starts none: that pod keeps the others of its workload from proving more. */
export function haltsAfter({ draining, health }: Survey, started: number): boolean {
  return health.failing.length > 0 && health.pending + draining.length + started === 0;
}
