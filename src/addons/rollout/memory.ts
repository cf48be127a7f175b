import { isNewer, type KubeObject } from '../../kube/api/object.ts';
import type { Observed, ObservedPod } from './observe.ts';
import type { FoundOut, Made, PodVerdict, RolloutPod } from './plan/pod.ts';
import { workloadKey } from './plan/pod.ts';

/** After which time a refused pod is tried again: rights, policies and the pod itself change. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [60_000, 3_600_000];

const JUST_GONE = 'another pod of its workload was just removed';

/** A pod that is asked about again later than this may have been free meanwhile. */
const SAME_BLOCK_MS = 60_000;

/** What was evicted before this time has been replaced, or never will be. */
const REPLACED_MS = 10 * 60_000;

/** Of a pod about which nothing is known. */
const NOTHING: FoundOut = {
  drainingSince: undefined,
  undrainedAt: undefined,
  drainedSince: undefined,
  verdict: undefined,
  blocked: undefined,
};

/** What this process has learnt about a pod. */
interface Memo {
  /** The pod as the last write returned it. */
  written: { readonly resourceVersion: string; readonly observed: Observed } | undefined;
  /** Since when this process has known it with the annotation of a drain. */
  drainingSince: number | undefined;
  undrainedAt: number | undefined;
  drainedSince: number | undefined;
  /** For templates with this hash. */
  verdict: { readonly hash: string; readonly is: PodVerdict; readonly refusals: number } | undefined;
  blocked: RolloutPod['blocked'];
  /** Until when it waits for another pod of its workload. */
  goneUntil: number;
  /** Until when not to end its drain, because that was denied. */
  deniedUntil: number;
}

/**
 * What the cluster does not say, or not yet: answers of the API server, and writes that the cache has not seen. All of
 * it can be found out again, so that the next leader needs none of it.
 */
export class PodMemory {
  readonly #memos = new Map<string, Memo>();
  /** When pods were changed: by this leader, or by their own account when its term began. */
  readonly #changed = new Map<string, number>();
  /** When pods of a workload were evicted whose replacements have not been seen. */
  readonly #evicted = new Map<string, number[]>();
  readonly #replacements = new Set<string>();
  readonly #drained = new Set<string>();
  /** When the term began: when all pods were recalled once. */
  #began: number | undefined;

  /** Keeps the pod that a write returned until the cache has it. */
  wrote(pod: KubeObject, observed: Observed | undefined): void {
    const { uid, resourceVersion = '' } = pod.metadata;
    if (uid !== undefined && observed) this.#memo(uid).written = { resourceVersion, observed };
  }

  changed(uid: string, now: number): void {
    this.#changed.set(uid, now);
  }

  drained(uid: string): void {
    this.#drained.add(uid);
  }

  evicted(pod: Pick<RolloutPod, 'key' | 'owner' | 'uid'>, now: number): void {
    const workload = workloadKey(pod);
    const earlier = (this.#evicted.get(workload) ?? []).filter((at) => at > now - REPLACED_MS);
    this.#evicted.set(workload, [...earlier, now]);
  }

  /** All pods were recalled: what one of them claims of itself from now on is not believed. */
  recalledAll(now: number): void {
    this.#began ??= now;
  }

  /** A verdict for templates with this hash. A refusal holds for a while, and longer each time. */
  judged(uid: string, hash: string, { how, why }: Omit<PodVerdict, 'until'>, now: number): void {
    const memo = this.#memo(uid);
    const refusals = memo.verdict?.hash === hash ? memo.verdict.refusals : 0;
    const until = now + Math.min(FIRST_RETRY_MS * 2 ** refusals, LAST_RETRY_MS);
    const is = { how, why, ...(how === 'refused' && { until }) };
    memo.verdict = { hash, is, refusals: refusals + 1 };
  }

  /**
   * Its disruption is not allowed for a time. Asked again soon after, and refused again, it is still the same wait, whatever
   * the words are.
   */
  block(uid: string, why: string, now: number, ms: number): void {
    const memo = this.#memo(uid);
    const { blocked } = memo;
    const isSame = blocked !== undefined && now < blocked.until + SAME_BLOCK_MS;
    memo.blocked = { until: now + ms, since: isSame ? blocked.since : now, why };
  }

  /** Another pod of its workload has gone: until that is replaced, no pod shows that one is missing. */
  lost(uid: string, until: number): void {
    this.#memo(uid).goneUntil = until;
  }

  denied(uid: string, until: number): void {
    this.#memo(uid).deniedUntil = until;
  }

  isDenied(uid: string, now: number): boolean {
    return now < (this.#memos.get(uid)?.deniedUntil ?? 0);
  }

  /** Why a pod was left, as last found out. */
  why(uid: string): string | undefined {
    return this.#memos.get(uid)?.verdict?.is.why;
  }

  /** Forgets what the settings of namespaces, or the templates, have led to. */
  reconsider(): void {
    for (const memo of this.#memos.values()) memo.verdict = undefined;
  }

  forget(uid: string): void {
    for (const all of [this.#memos, this.#changed, this.#replacements, this.#drained]) all.delete(uid);
  }

  clear(): void {
    for (const all of [this.#memos, this.#changed, this.#evicted, this.#replacements, this.#drained])
      all.clear();
    this.#began = undefined;
  }

  /** The newest state of a pod; undefined for one without a sidecar. */
  newest({ metadata, observed }: ObservedPod): Observed | undefined {
    const memo = this.#memos.get(metadata.uid ?? '');
    if (!memo?.written) return observed;
    if (isNewer(memo.written, metadata)) return memo.written.observed;
    memo.written = undefined;
    return observed;
  }

  /** What is remembered of a pod, for templates with this hash. */
  recall(observed: Observed, hash: string, now: number): FoundOut & Made {
    return { ...this.#found(observed, hash, now), ...this.#made(observed, now) };
  }

  #made(observed: Observed, now: number): Made {
    const { uid, createdAt } = observed;
    if (this.#began === undefined) {
      // After a restart of the operator, the pod's own account is the best.
      const at = Date.parse(observed.status?.at ?? '');
      const changedAt = at <= now ? at : undefined;
      if (changedAt !== undefined) this.#changed.set(uid, changedAt);
      if (observed.isDraining) this.#drained.add(uid);
      return { changedAt, isReplacement: true, isDrainOurs: true };
    }
    // The clock may have been set back.
    const changedAt = this.#changed.get(uid);
    if (changedAt !== undefined && changedAt > now) this.#changed.set(uid, now);
    if (this.#evicted.size > 0 && createdAt > this.#began && !this.#replacements.has(uid)) {
      const evictions = this.#evicted.get(workloadKey(observed)) ?? [];
      // Times of creation are whole seconds.
      const place = evictions.findIndex((at) => createdAt > at - 1_000);
      if (place !== -1) {
        evictions.splice(place, 1);
        this.#replacements.add(uid);
      }
    }
    return {
      changedAt: changedAt && Math.min(changedAt, now),
      isReplacement: createdAt <= this.#began || this.#replacements.has(uid),
      isDrainOurs: this.#drained.has(uid),
    };
  }

  #found({ uid, isDraining, canDrain, ready }: Observed, hash: string, now: number): FoundOut {
    const isDrained = isDraining && (!canDrain || ready === false);
    const memo = isDraining ? this.#memo(uid) : this.#memos.get(uid);
    if (!memo) return NOTHING;
    if (!isDraining && memo.drainingSince !== undefined) memo.undrainedAt = now;
    // The clock may have been set back: no pod stays out of its Services until it is right again.
    const notAfterNow = (time = now) => Math.min(time, now);
    memo.drainingSince = isDraining ? notAfterNow(memo.drainingSince) : undefined;
    memo.drainedSince = isDrained ? notAfterNow(memo.drainedSince) : undefined;
    const { verdict, drainingSince, undrainedAt, drainedSince } = memo;
    const refused =
      memo.blocked && memo.blocked.since <= now && now < memo.blocked.until + SAME_BLOCK_MS
        ? memo.blocked
        : undefined;
    const isLost = now < memo.goneUntil && memo.goneUntil > (refused?.until ?? 0);
    const blocked = isLost ? { since: now, why: JUST_GONE, ...refused, until: memo.goneUntil } : refused;
    const isValid = verdict?.hash === hash && now < (verdict.is.until ?? Number.POSITIVE_INFINITY);
    return { drainingSince, undrainedAt, drainedSince, blocked, verdict: isValid ? verdict.is : undefined };
  }

  #memo(uid: string): Memo {
    const known = this.#memos.get(uid);
    if (known) return known;
    const memo: Memo = { ...NOTHING, written: undefined, verdict: undefined, goneUntil: 0, deniedUntil: 0 };
    this.#memos.set(uid, memo);
    return memo;
  }
}
