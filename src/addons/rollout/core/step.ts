import type { Status } from '../../../injection/status.ts';
import { isCanary } from '../../../injection/template/canary.ts';
import type { PodShare, Strategy } from '../../../injection/template/strategy.ts';
import { canaryScope } from './canary-scope.ts';
import { assess, type Change, changeOf, type Health, isMade, unsettledUntil } from './health.ts';
import { type Candidate, pick } from './order.ts';
import type { Action, PodState, Reason, RolloutPod } from './pod.ts';
import type { Decision, Revision, Revisions } from './revision.ts';
import { relate, type Standing, standingOf } from './standing.ts';
import { freeIn, namespaceOf, type Workload, Workloads } from './workloads.ts';

/** Where a rollout is. */
export type Phase = 'off' | 'begin' | 'canary' | 'hold' | 'rest' | 'paused' | 'halted' | 'back' | 'done';

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
/** What keeps a pod from its turn for so long does not hold up the canary: its user could keep all others waiting. */
const STUCK_MS = 10 * 60_000;
/** The time of `perMinute`. */
const MINUTE_MS = 60_000;

/** What the passes over the pods find. */
interface Survey {
  /** Pods with the target's templates that say something about it. */
  readonly changes: readonly Change[];
  /** When pods were changed in the last minute, and how many in each namespace in this rollout. */
  readonly recent: readonly number[];
  readonly recentIn: ReadonlyMap<string, number>;
  /** Pods that were changed and must stay Ready for a while. */
  readonly settling: number;
  /** Candidates that are drained, and those that are not touched yet. */
  readonly draining: readonly Candidate[];
  readonly candidates: readonly Candidate[];
  /** All other pods. */
  readonly states: readonly PodState[];
  /** Pods that are drained although they stay as they are. */
  readonly stray: readonly RolloutPod[];
}

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
  const survey = surveyOf([...pods], revisions, strategy, now, wake);
  const health = assess(survey.changes, strategy.breaker);
  const { phase, decision, mayStart, unproved } = plan(survey, health, revisions, strategy, now, wake);
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
    const next = may === true ? afterDrain(candidate, now, wake) : 'undrain';
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
  const limits = { slots: Math.min(slots, rate), maxUnavailable: strategy.maxUnavailable };
  const started = new Set(goesBack ? chooseBack(open, survey, limits) : choose(open, survey, health, limits));
  // A failed pod of the canary keeps the others of its workload from proving more.
  const isStuck =
    phase === 'canary' &&
    health.failing.length > 0 &&
    health.pending + survey.draining.length + started.size === 0;
  for (const candidate of open) {
    const { pod, workload } = candidate;
    if (started.has(candidate)) continue;
    const isFull = freeIn(workload, strategy.maxUnavailable) <= 0 || started.size < limits.slots;
    wait(pod, isServing(candidate) && isFull ? 'workload' : rate <= slots ? 'rate' : 'unproven');
  }
  for (const candidate of started) {
    states.push({ pod: candidate.pod, is: 'under-way' });
    actions.push({ do: firstOf(candidate), pod: candidate.pod, to });
  }
  if (open.length > started.size) wake.at(minimum(survey.recent, MINUTE_MS));
  return {
    phase,
    actions,
    pods: states,
    health,
    decision: isStuck ? { do: 'halt' } : decision,
    wakeInMs: wake.inMs,
  };
}

/** The earliest time to look again. */
class Wake {
  readonly #now: number;
  #at = Number.POSITIVE_INFINITY;

  constructor(now: number) {
    this.#now = now;
  }

  at(time: number | undefined): void {
    if (time !== undefined && time < this.#at) this.#at = time;
  }

  get inMs(): number | undefined {
    return this.#at === Number.POSITIVE_INFINITY ? undefined : Math.max(0, this.#at - this.#now);
  }
}

/** The first action for a candidate. A pod that serves nothing, or whose workload has no other pod, needs no drain. */
function firstOf({ how, pod, workload }: Candidate): Action['do'] {
  if (how === 'evict') return 'evict';
  return pod.ready === true && workload.replicas > 1 ? 'drain' : 'change';
}

/** What follows the drain of a pod; undefined: it goes on. */
function afterDrain({ pod, how }: Candidate, now: number, wake: Wake): Action['do'] | undefined {
  if (how === 'evict') return 'undrain';
  if (pod.trouble !== undefined) return 'change';
  if (pod.ready === 'unknown') return undefined;
  const { drainedSince, drainingSince } = pod;
  const ends = [
    ...(drainedSince === undefined ? [] : [drainedSince + DRAIN_MS]),
    ...(drainingSince === undefined ? [] : [drainingSince + DRAIN_LIMIT_MS]),
  ];
  const end = Math.min(...ends);
  if (now >= end) return 'change';
  if (ends.length > 0) wake.at(end);
  return undefined;
}

/**
 * How many more pods may start. Before anything is proved, as many as may fail: so a template that always fails reaches
 * no more pods than that. Each good pod that was changed makes room for one more.
 */
function slotsOf(draining: number, { made, pending, failing, lost }: Health, { breaker }: Strategy): number {
  return breaker.failures - failing.length + made - pending - lost - draining;
}

interface Limits {
  /** Pods that may start. */
  readonly slots: number;
  readonly maxUnavailable: PodShare;
}

const UNLIMITED = () => Number.POSITIVE_INFINITY;
const isBroken = ({ pod }: Candidate) => pod.ready === false;
const isServing = ({ pod }: Candidate) => pod.ready !== false;

/**
 * The candidates that start now. Pods that do not serve come first, and take nothing from their workload. But they
 * prove little, so that the first proof comes from others, unless none of them can start: broken pods may use up what
 * their workload can spare.
 */
function choose(
  open: readonly Candidate[],
  { changes, draining, recentIn }: Survey,
  { good, pending }: Health,
  { slots, maxUnavailable }: Limits,
): readonly Candidate[] {
  const how = { touched: touchedNodes(changes), recentIn };
  const free = (workload: Workload) => freeIn(workload, maxUnavailable);
  const pickServing = (most: number) => pick(open.filter(isServing), { slots: most, free, ...how });
  if (good === 0) {
    const serving = pickServing(slots);
    if (serving.length > 0 || draining.length + pending > 0) return serving;
  }
  const broken = pick(open.filter(isBroken), { slots, free: UNLIMITED, ...how });
  return [...broken, ...pickServing(slots - broken.length)];
}

/** The candidates that go back now: all that do not serve, at once. */
function chooseBack(
  open: readonly Candidate[],
  { changes, recentIn }: Survey,
  { slots, maxUnavailable }: Limits,
): readonly Candidate[] {
  const free = (workload: Workload) => freeIn(workload, maxUnavailable);
  const how = { touched: touchedNodes(changes), recentIn };
  const serving = pick(open.filter(isServing), { slots, free, ...how });
  return [...open.filter(isBroken), ...serving];
}

function touchedNodes(changes: readonly Change[]): ReadonlyMap<string, number> {
  const touched = new Map<string, number>();
  for (const { pod, at } of changes) touched.set(pod.node, Math.max(at, touched.get(pod.node) ?? 0));
  return touched;
}

function minimum(times: readonly number[], plus: number): number | undefined {
  const least = times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return Number.isFinite(least) ? least + plus : undefined;
}

function surveyOf(
  pods: readonly RolloutPod[],
  revisions: Revisions,
  strategy: Strategy,
  now: number,
  wake: Wake,
): Survey {
  const { target } = revisions;
  const workloads = new Workloads();
  const changes: Change[] = [];
  const [recent, created, served]: [RolloutPod[], RolloutPod[], RolloutPod[]] = [[], [], []];
  const settling = new Set<RolloutPod>();
  for (const pod of pods) {
    const workload = workloads.of(pod);
    const unsettled = unsettledUntil(pod, now);
    wake.at(unsettled);
    wake.at(pod.verdict?.until);
    if (unsettled !== undefined) settling.add(pod);
    if (!pod.isGoing) workload.replicas += 1;
    const has = hasSet(pod, target);
    const change = has && isOfRollout(pod, target) ? changeOf(pod, target, strategy.breaker, now) : undefined;
    if (change) {
      changes.push(change);
      workload.changed += 1;
      if (isMade(change)) workload.madeAt = Math.max(workload.madeAt, change.at);
      wake.at(change.until);
    }
    const { changedAt } = pod;
    // In a minute, not each of many namespaces has a turn.
    if (has && target.state !== 'halted' && changedAt !== undefined && changedAt >= target.since)
      served.push(pod);
    if (changedAt !== undefined && changedAt > now - MINUTE_MS) recent.push(pod);
    else if (change && pod.isReplacement && change.at > now - MINUTE_MS) created.push(pod);
    if (pod.isGoing || pod.isDraining || pod.ready !== true || unsettled !== undefined) workload.busy += 1;
  }
  const [draining, candidates]: [Candidate[], Candidate[]] = [[], []];
  const states: PodState[] = [];
  const stray: RolloutPod[] = [];
  for (const pod of pods) {
    const { status } = pod;
    if (status === undefined || pod.isGoing) continue;
    const workload = workloads.of(pod);
    const standing =
      target.state === 'halted'
        ? standingBack(pod, status, revisions, strategy)
        : standingOf(pod, status, { set: target.set, strategy, replicas: workload.replicas });
    if (standing.is === 'candidate') {
      (pod.isDraining ? draining : candidates).push({ pod, how: standing.how, workload });
      continue;
    }
    states.push(settling.has(pod) ? { pod, is: 'under-way' } : { pod, ...standing });
    if (pod.isDraining) stray.push(pod);
  }
  const survey = { settling: settling.size, draining, candidates, states, stray };
  const evicts = candidates.some(({ how }) => how === 'evict');
  const all = evicts ? [...recent, ...created] : recent;
  const recentIn = new Map<string, number>();
  for (const { key } of new Set([...all, ...served, ...draining.map(({ pod }) => pod)]))
    recentIn.set(namespaceOf(key), (recentIn.get(namespaceOf(key)) ?? 0) + 1);
  // Others create new pods, too. Once all of them get the target, they are no part of its rollout.
  const isOurs = ({ pod }: Change) => pod.changedAt !== undefined || (evicts && pod.isReplacement);
  return {
    ...survey,
    changes: target.state === 'promoted' ? changes.filter(isOurs) : changes,
    recent: all.map(({ changedAt, createdAt }) => changedAt ?? createdAt),
    recentIn,
  };
}

/** Whether a pod with the target may say something about it: it has it by a rollout or by its creation in the canary. */
function isOfRollout(pod: RolloutPod, target: Revision): boolean {
  if (target.state !== 'canary' || pod.changedAt !== undefined) return true;
  return isCanary(target.canary, pod.namespace.namespaceLabels, pod.owner?.uid);
}

/** Whether the pod has the templates of a revision. */
function hasSet({ status, selects, namespace }: RolloutPod, { set }: Revision): boolean {
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
  return standingOf({ ...pod, isConfigStale: false }, status, {
    set: promoted.set,
    strategy: back,
    replicas: 1,
  });
}

interface Plan {
  readonly phase: Phase;
  readonly decision: Decision | undefined;
  /** Whether a candidate may start, or what it waits for. */
  readonly mayStart: (candidate: Candidate) => true | Reason;
  /** Changed pods that the canary waits for, because it has no proof without them. */
  readonly unproved?: ReadonlySet<RolloutPod>;
}

/**
 * Whether a pod that serves has waited for too long for a disruption budget, or for other pods of its workload, which may
 * fail and recover again and again: since the rollout began, or got further with the workload.
 */
function isStuck(
  { pod, workload }: Candidate,
  { maxUnavailable }: Strategy,
  begun: number,
  now: number,
  wake: Wake,
): boolean {
  if (pod.isDraining || pod.ready !== true) return false;
  const since = [
    ...(pod.blocked === undefined ? [] : [pod.blocked.since]),
    ...(freeIn(workload, maxUnavailable) > 0 ? [] : [Math.max(begun, workload.madeAt)]),
  ];
  const end = Math.min(...since) + STUCK_MS;
  if (now < end) wake.at(end);
  return now >= end;
}

/** The phase, the decision about the target's revision, and which candidates may start. */
function plan(
  { draining, candidates, settling }: Survey,
  health: Health,
  { target, paused }: Revisions,
  strategy: Strategy,
  now: number,
  wake: Wake,
): Plan {
  const rest = [...draining, ...candidates];
  const nothing = (phase: Phase, why: Reason, decision?: Decision): Plan => ({
    phase,
    decision,
    mayStart: () => why,
  });
  const all = (phase: Phase): Plan => ({ phase, decision: undefined, mayStart: () => true });
  if (strategy.mode === 'new-pods') return nothing('off', 'paused');
  const isPaused = strategy.paused || paused;
  if (target.state === 'halted') {
    if (isPaused) return nothing('paused', 'paused');
    return all(rest.length + settling > 0 ? 'back' : 'halted');
  }
  const inCanary = ({ pod }: Candidate) =>
    isCanary(target.canary, pod.namespace.namespaceLabels, pod.owner?.uid);
  const canary: Plan = { ...all('canary'), mayStart: (candidate) => inCanary(candidate) || 'canary' };
  // A clock that was set back must not make it wait.
  const begun = target.since > now ? 0 : target.since;
  const isTried =
    target.state === 'canary' &&
    health.pending === 0 &&
    !rest.some(
      (each) => inCanary(each) && each.pod.ready !== 'unknown' && !isStuck(each, strategy, begun, now, wake),
    );
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
    const others = serving.filter((candidate) => !isStuck(candidate, strategy, begun, now, wake));
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
