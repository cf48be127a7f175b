import type { Strategy } from '../../../injection/template/strategy.ts';
import type { Health } from './health.ts';
import { choose, isServing } from './order.ts';
import { type Phase, plan } from './phase.ts';
import { type Action, type Candidate, freeIn, type PodState, type Reason, type RolloutPod } from './pod.ts';
import type { Decision, Revisions } from './revision.ts';
import { MINUTE_MS, surveyOf, Wake } from './survey.ts';

export interface Step {
  readonly phase: Phase;
  /** At most one for each pod. The same pods give the same actions. */
  readonly actions: readonly Action[];
  /** Each pod with a sidecar. */
  readonly pods: readonly PodState[];
  readonly health: Health;
  /** What to write into the ControllerRevision of the target. */
  readonly decision: Decision | undefined;
  /** When to call again if nothing changes, in milliseconds from now; undefined: not at all. */
  readonly wakeInMs: number | undefined;
}

/** How long a pod stays drained, for connections that are kept alive, before its sidecar restarts. */
const DRAIN_MS = 6_000;
/** A pod that is not out of its Services after this time never will be, and must not hold up others. Kubelets take up to 90 s. */
export const DRAIN_LIMIT_MS = 120_000;
/**
 * The next step of a rollout. It is a pure function without a memory: the pods themselves say which of them are under
 * way and which have failed. So a new leader goes on where the last one was.
 */
export function step(
  pods: Iterable<RolloutPod>,
  revisions: Revisions,
  strategy: Strategy,
  now: number,
): Step {
  const goesBack = revisions.target.state === 'halted';
  const to = goesBack ? revisions.promoted : revisions.target;
  const wake = new Wake(now);
  const survey = surveyOf([...pods], revisions, strategy, wake);
  const { health } = survey;
  const { phase, decision, mayStart, unproved } = plan(survey, revisions, strategy, wake);
  const actions: Action[] = survey.stray.map((pod) => ({ do: 'undrain', pod, to }));
  const states = survey.states.map((state): PodState => {
    return unproved?.has(state.pod) ? { pod: state.pod, is: 'waiting', why: 'unready' } : state;
  });
  const wait = (pod: RolloutPod, why: Reason, message?: string) =>
    states.push({ pod, is: 'waiting', why, ...(message !== undefined && { message }) });

  for (const candidate of survey.draining) {
    const { pod } = candidate;
    const may = mayStart(candidate);
    if (may === true) states.push({ pod, is: 'under-way' });
    else wait(pod, may);
    const next = may === true ? afterDrain(candidate, wake) : 'undrain';
    if (next) actions.push({ do: next, pod, to });
  }
  const open: Candidate[] = [];
  for (const candidate of survey.candidates) {
    const { pod } = candidate;
    const may = mayStart(candidate);
    if (may !== true) wait(pod, may);
    else if (pod.ready === 'unknown') wait(pod, 'node');
    else if (pod.blocked !== undefined && pod.blocked.until > now) {
      wait(pod, 'budget', pod.blocked.why);
      wake.at(pod.blocked.until);
    } else open.push(candidate);
  }
  const drained = survey.draining.filter(({ pod }) => pod.isDrainOurs).length;
  const rate = strategy.perMinute - survey.recent.length - drained;
  const slots = goesBack ? Number.POSITIVE_INFINITY : slotsOf(drained, health, strategy);
  const most = Math.min(slots, rate);
  const started = new Set(choose(open, survey, most, strategy.maxUnavailable, goesBack));
  for (const candidate of open) {
    const { pod, workload } = candidate;
    if (started.has(candidate)) continue;
    const isFull = freeIn(workload, strategy.maxUnavailable) <= 0 || started.size < most;
    wait(pod, isServing(candidate) && isFull ? 'workload' : rate <= slots ? 'rate' : 'unproven');
  }
  for (const candidate of started) {
    states.push({ pod: candidate.pod, is: 'under-way' });
    actions.push({ do: firstOf(candidate), pod: candidate.pod, to });
  }
  if (open.length > started.size) for (const at of survey.recent) wake.at(at + MINUTE_MS);
  // A canary of which a pod has failed: that pod keeps the others of its workload from proving more.
  const hasFailed =
    phase === 'canary' &&
    health.failing.length > 0 &&
    health.pending + survey.draining.length + started.size === 0;
  return {
    phase,
    actions,
    pods: states,
    health,
    decision: hasFailed ? { do: 'halt' } : decision,
    wakeInMs: wake.inMs,
  };
}

/** The first action for a candidate. A pod that serves nothing, or whose workload has no other pod, needs no drain. */
function firstOf({ how, pod, workload }: Candidate): Action['do'] {
  if (how === 'evict') return 'evict';
  return pod.ready === true && workload.replicas > 1 ? 'drain' : 'change';
}

/** What follows the drain of a pod; undefined: it goes on. */
function afterDrain({ pod, how }: Candidate, wake: Wake): Action['do'] | undefined {
  if (how === 'evict') return 'undrain';
  if (pod.trouble !== undefined) return 'change';
  if (pod.ready === 'unknown') return undefined;
  const { drainedSince = Number.POSITIVE_INFINITY, drainingSince = Number.POSITIVE_INFINITY } = pod;
  const end = Math.min(drainedSince + DRAIN_MS, drainingSince + DRAIN_LIMIT_MS);
  if (wake.now >= end) return 'change';
  wake.at(end);
  return undefined;
}

/**
 * How many more pods may start. Before anything is proved, as many as may fail: so a template that always fails reaches
 * no more pods than that. Each good pod that was changed makes room for one more.
 */
function slotsOf(draining: number, { made, pending, failing, lost }: Health, { breaker }: Strategy): number {
  return breaker.failures - failing.length + made - pending - lost - draining;
}
