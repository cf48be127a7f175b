import type { Strategy } from '../../../injection/template/strategy.ts';
import { isOptedOut, type RolloutPod } from './pod.ts';
import type { Revision } from './revision.ts';

/** A changed pod counts as Ready after this time: it may be Ready for a moment, and not Ready again. */
const SETTLED_MS = 5_000;
/** An operator that was away, or has much to do, puts a pod back late. If it takes longer, it cannot. */
const UNDRAIN_MS = 120_000;
/** Once the target is promoted, older changes say nothing about it any more. */
const RECENT_MS = 10 * 60_000;
/** How long to wait for a replacement to exist and start: the template may keep it from that, but a user could for ever. */
const AWAITED_MS = 10 * 60_000;

/**
 * `unknown`: its node does not answer, or it was not Ready before either and still is not, which is neither good nor
 * bad. A pod that others have made is, too, until it is good or has failed: nothing waits for it.
 */
export type Outcome = 'good' | 'failing' | 'pending' | 'unknown';

/** A pod with the target's templates, and what became of it; or one that was evicted for them. */
export interface Change {
  readonly pod: RolloutPod;
  /** When it got the templates, by a change in place or by its creation, or when it was evicted. */
  readonly at: number;
  /** Whether that is long ago. */
  readonly isOld: boolean;
  readonly outcome: Outcome;
  /** Why it has failed. */
  readonly why?: string;
  /** When the outcome changes if nothing else does. */
  readonly until?: number;
}

/** What the breaker knows about the changed pods. */
export interface Health {
  readonly good: number;
  /** Those of the good ones that a rollout has changed or replaced: each makes room for one more. */
  readonly made: number;
  /** Pods whose outcome is not known yet. */
  readonly pending: number;
  /** Pods that were changed, and whose node does not answer. */
  readonly lost: number;
  /** Pods that prove nothing: not scheduled or started, or not Ready before either. */
  readonly unknown: ReadonlySet<RolloutPod>;
  /** Those of the last changed pods that failed. */
  readonly failing: readonly Change[];
}

/** What became of a pod with the target's templates; undefined if it says nothing about this rollout. */
export function changeOf(
  pod: RolloutPod,
  target: Revision,
  { mode, breaker: { withinMs } }: Strategy,
  now: number,
): Change | undefined {
  const { changedAt, evictedAt = -Infinity } = pod;
  const awaited = (at: number): Change | undefined =>
    now < at + AWAITED_MS ? { pod, at, isOld: false, outcome: 'pending', until: at + AWAITED_MS } : undefined;
  if (pod.isGoing) return mode === 'in-place-or-replace' ? awaited(evictedAt) : undefined;
  const at = changedAt ?? pod.createdAt;
  const isOld = at < now - Math.max(RECENT_MS, 2 * withinMs);
  // A pod with an older configuration waits for another change: it says nothing, and may be drained for it.
  // A clock that was set back must not hide failures: then all pods with the templates count.
  const since = target.since > now ? 0 : target.since;
  if (at < since || pod.isConfigStale || isOptedOut(pod)) return undefined;
  const done = (outcome: Outcome, why?: string): Change => ({ pod, at, isOld, outcome, ...(why && { why }) });
  const { status, ready, readySince, trouble } = pod;
  if (ready === 'unknown') return done('unknown');
  const unstarted = (changedAt === undefined && pod.isReplacement && awaited(at)) || done('unknown');
  if (pod.node === '') return unstarted;
  if (ready && now >= settlesAt(pod, at)) return done('good');
  const wasBroken = status?.wasReady === false;
  if (trouble !== undefined) return done(wasBroken ? 'unknown' : 'failing', trouble);
  const isOurs = changedAt !== undefined || pod.isReplacement;
  const pending = (until: number): Change => ({ ...done(isOurs ? 'pending' : 'unknown'), until });
  if (ready) return pending(settlesAt(pod, at));
  // It was Ready with the new templates for a while: what it lacks now is its own affair.
  if (readySince > (changedAt ?? pod.sidecarStartedAt ?? Infinity) + withinMs) return done('good');
  // The application of a new pod starts too, and may take its time: only its sidecar counts.
  const startedAt =
    changedAt === undefined ? pod.sidecarStartedAt : Math.max(changedAt, pod.undrainedAt ?? 0);
  if (changedAt === undefined && pod.isSidecarReady) return done('good');
  if (startedAt === undefined) return unstarted;
  // A drained pod whose sidecar runs again waits for the operator.
  const putBackBy = pod.isDraining && pod.isRestarted ? (pod.drainingSince ?? now) + UNDRAIN_MS : 0;
  const until = Math.max(startedAt + withinMs, putBackBy);
  if (now < until) return pending(until);
  return done(
    wasBroken ? 'unknown' : 'failing',
    `not Ready ${Math.round(withinMs / 1000)} s after its change`,
  );
}

/** When a pod that is Ready counts as good. */
function settlesAt({ readySince }: RolloutPod, at: number): number {
  return Math.max(readySince, at) + SETTLED_MS;
}

/** Until when to wait for a pod that has gone back and is not Ready yet; undefined: it is, or will hardly be. */
export function backUntil(
  { changedAt, createdAt, isReplacement, undrainedAt = 0, ready }: RolloutPod,
  withinMs: number,
  now: number,
): number | undefined {
  const at = changedAt ?? (isReplacement ? createdAt : undefined);
  if (at === undefined || ready !== false) return undefined;
  const until = Math.max(at, undrainedAt) + withinMs;
  return now < until ? until : undefined;
}

/** Until when a pod that was changed in place and is Ready must stay so; undefined if it has, or is not Ready. */
export function unsettledUntil(pod: RolloutPod, now: number): number | undefined {
  const at = pod.changedAt;
  if (at === undefined || pod.ready !== true) return undefined;
  const until = settlesAt(pod, at);
  return now < until ? until : undefined;
}

/** Whether the rollout has changed or evicted the pod, or created it in the place of another one. */
export function isMade({ pod }: Change): boolean {
  return pod.changedAt !== undefined || pod.evictedAt !== undefined || pod.isReplacement;
}

/** Looks at the last changed pods. */
export function assess(changes: readonly Change[], { of }: Strategy['breaker']): Health {
  const good = changes.filter(({ outcome }) => outcome === 'good');
  const made = good.filter(isMade).length;
  const pending = changes.filter(({ outcome }) => outcome === 'pending').length;
  const lost = changes.filter(({ pod }) => pod.ready === 'unknown').length;
  const unknown = changes.filter(({ outcome }) => outcome === 'unknown').map(({ pod }) => pod);
  const judged = changes.filter(({ outcome }) => outcome === 'good' || outcome === 'failing');
  // Users create as many good pods as they like: those are looked at last.
  const last = judged
    .toSorted(
      (a, b) => Number(isMade(b)) - Number(isMade(a)) || b.at - a.at || (a.pod.uid < b.pod.uid ? -1 : 1),
    )
    .slice(0, of);
  const failing = last.filter(({ outcome }) => outcome === 'failing');
  return { good: good.length, made, pending, lost, unknown: new Set(unknown), failing };
}
