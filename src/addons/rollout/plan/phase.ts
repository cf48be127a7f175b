import {
  type CanaryScope,
  isCanary,
  percentFor,
  type Strategy,
} from '../../../injection/template/strategy.ts';
import { type Candidate, freeIn, type Reason, type RolloutPod } from './pod.ts';
import type { Decision, Revisions } from './revision.ts';
import { hasSet, type Survey, type Wake } from './survey.ts';

/** Where a rollout is. */
export type Phase = 'begin' | 'canary' | 'hold' | 'rest' | 'paused' | 'halted' | 'back' | 'done';

/** What keeps a pod from its turn for so long does not hold up the canary: its user could keep all others waiting. */
const STUCK_MS = 10 * 60_000;

export interface Plan {
  readonly phase: Phase;
  readonly decision: Decision | undefined;
  /** Whether a candidate may start, or what it waits for. */
  readonly mayStart: (candidate: Candidate) => true | Reason;
  /** Changed pods that the canary waits for, because it has no proof without them. */
  readonly unproved?: ReadonlySet<RolloutPod>;
}

/** The phase, the decision about the target's revision, and which candidates may start. */
export function plan(survey: Survey, revisions: Revisions, strategy: Strategy, wake: Wake): Plan {
  const { target, paused } = revisions;
  const { settling, health } = survey;
  const { now } = wake;
  const rest = [...survey.draining, ...survey.candidates];
  const nothing = (phase: Phase, why: Reason, decision?: Decision): Plan => ({
    phase,
    decision,
    mayStart: () => why,
  });
  const all = (phase: Phase): Plan => ({ phase, decision: undefined, mayStart: () => true });
  const isPaused = strategy.paused || paused;
  if (target.state === 'halted') {
    if (isPaused) return nothing('paused', 'paused');
    return all(rest.length + settling > 0 ? 'back' : 'halted');
  }
  const { has: inCanary, isStuck, isTried } = canaryOf(survey, revisions, strategy, wake);
  const canary: Plan = { ...all('canary'), mayStart: (candidate) => inCanary(candidate) || 'canary' };
  // The breaker halts it if too many pods have failed, or any of a canary that has had its chance.
  if (health.failing.length >= (isTried ? 1 : strategy.breaker.failures)) {
    // A changed configuration of Envoy has no revision to go back to.
    const isNew = target.state !== 'promoted' || rest.some(({ pod }) => !hasSet(pod, target));
    return nothing('halted', 'halted', isNew ? { do: 'halt' } : undefined);
  }
  if (isPaused) return nothing('paused', 'paused');
  if (target.state === 'new')
    return nothing('begin', 'canary', { do: 'begin', canary: canaryScope(rest, strategy) });
  if (target.state === 'promoted') return all(rest.length + health.pending + settling > 0 ? 'rest' : 'done');
  if (!isTried) return canary;
  // Nothing was proved: its pods are gone, left alone, stuck, not scheduled, were broken before, or never were.
  if (health.good === 0) {
    // Lost nodes may be what the template has done to them.
    const isLost = rest.length > 0 && rest.every(({ pod }) => pod.ready === 'unknown');
    if (health.lost > 0 || isLost) return { ...canary, unproved: health.unknown };
    // Only pods that serve can prove more.
    const serving = rest.filter(({ pod }) => pod.ready === true);
    const others = serving.filter((candidate) => !isStuck(candidate));
    const wider = {
      ...target.canary,
      percent: canaryScope(others, { ...strategy, canary: undefined }).percent,
    };
    if (wider.percent > target.canary.percent)
      return nothing('canary', 'canary', { do: 'begin', canary: wider });
    if (serving.length + health.unknown.size > 0) return { ...canary, unproved: health.unknown };
  }
  const holdMs = strategy.canary?.holdMs ?? 0;
  // A time that is still to come was written by a clock that was set back since.
  const isHeld = target.heldSince !== undefined && target.heldSince <= now;
  if (holdMs > 0 && !isHeld) return nothing('hold', 'hold', { do: 'hold' });
  const end = (target.heldSince ?? now) + holdMs;
  if (now >= end) return nothing('hold', 'hold', { do: 'promote' });
  wake.at(end);
  return nothing('hold', 'hold');
}

/**
 * The canary of a rollout. A percentage is made large enough for one workload that can prove something. Without a
 * canary in the strategy it is the smallest percentage with as many pods as the breaker looks at.
 */
function canaryScope(candidates: readonly Candidate[], strategy: Strategy): CanaryScope {
  const owned = candidates.filter(({ pod }) => pod.owner !== undefined);
  const { canary, breaker } = strategy;
  if (canary === undefined) return { namespaces: undefined, percent: percentWith(owned, breaker.of) };
  if (canary.percent === 0) return { namespaces: canary.namespaces, percent: 0 };
  return { namespaces: canary.namespaces, percent: Math.max(canary.percent, percentWith(owned, 1)) };
}

/** The smallest percentage of workloads that has this many of the pods, or all of them. */
function percentWith(candidates: readonly Candidate[], count: number): number {
  const uids = candidates.map(({ pod }) => pod.owner?.uid ?? '').toSorted();
  const last = uids[Math.min(count, uids.length) - 1];
  return last === undefined ? 0 : percentFor(last);
}

/** The canary of the target, and whether it has had its chance: then nothing of it is under way, or will be soon. */
function canaryOf(
  { draining, candidates, health }: Survey,
  { target }: Revisions,
  { maxUnavailable }: Strategy,
  wake: Wake,
) {
  const { now } = wake;
  // A clock that was set back must not make it wait.
  const begun = target.since > now ? 0 : target.since;
  /**
   * Whether a pod has waited for too long for a disruption budget, or, if it serves, for other pods of its workload, which may
   * fail and recover again and again: since the rollout began, or got further with the workload.
   */
  const isStuck = ({ pod, workload }: Candidate): boolean => {
    if (pod.isDraining) return false;
    const isFull = pod.ready === true && freeIn(workload, maxUnavailable) <= 0;
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
