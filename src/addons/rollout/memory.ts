import { isNewer, type KubeObject } from '../../kube/api/object.ts';
import type { Observed, ObservedPod } from './observe.ts';
import type { FoundOut, Made, PodVerdict, RolloutPod } from './plan/pod.ts';
import { workloadKey } from './plan/pod.ts';

/** After which time a refused pod is tried again: rights, policies and the pod itself change. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [60_000, 3_600_000];

/** A pod that is asked about again later than this may have been free meanwhile. */
const SAME_BLOCK_MS = 60_000;

/** What was evicted before this time has been replaced, or never will be; and what others have removed. */
const [REPLACED_MS, OTHERS_REPLACED_MS] = [60 * 60_000, 5_000];

/** The clocks of the operator and the API server may differ by so much. */
const CLOCKS_MS = 10_000;

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
  /** Until when not to end its drain, because that was denied. */
  deniedUntil: number;
}

/** A pod whose replacement has not been seen. */
interface Missing {
  readonly workload: string;
  readonly evictedAt: number | undefined;
  readonly until: number;
  /** Its last state, once it has gone. */
  readonly last?: Observed;
}

/**
 * What the cluster does not say, or not yet: answers of the API server, and writes that the cache has not seen. All of
 * it can be found out again, so that the next leader needs none of it.
 */
export class PodMemory {
  readonly #memos = new Map<string, Memo>();
  /** When pods were changed: by this leader, or by their own account when its term began. */
  readonly #changed = new Map<string, number>();
  /** By UID. */
  readonly #missing = new Map<string, Missing>();
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
    this.#missing.set(pod.uid, { workload: workloadKey(pod), evictedAt: now, until: now + REPLACED_MS });
  }

  /** A pod has gone. Until its replacement is there, no other pod shows that one is missing. */
  removed(pod: Observed, now: number): void {
    if (this.#began === undefined) return;
    const known = this.#missing.get(pod.uid);
    // What was going when the term began may have been replaced before.
    const isOurs = known?.evictedAt !== undefined && known.evictedAt > this.#began;
    const foreign = { workload: workloadKey(pod), evictedAt: undefined, until: now + OTHERS_REPLACED_MS };
    const last = { ...pod, isGoing: true, isDraining: false };
    this.#missing.set(pod.uid, { ...(isOurs ? known : foreign), last });
  }

  /** The pods that have gone and are missed. */
  gone(now: number): readonly Observed[] {
    for (const [uid, { evictedAt = 0, until }] of this.#missing)
      if (now < evictedAt || now >= until) this.#missing.delete(uid);
    return [...this.#missing.values()].flatMap(({ last }) => last ?? []);
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
    for (const all of [this.#memos, this.#changed, this.#missing, this.#replacements, this.#drained])
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
    const { uid, createdAt, isGoing } = observed;
    if (this.#began === undefined) {
      // After a restart of the operator, the pod's own account is the best.
      const at = Date.parse(observed.status?.at ?? '');
      const changedAt = at <= now ? at : undefined;
      if (changedAt !== undefined) this.#changed.set(uid, changedAt);
      if (observed.isDraining) this.#drained.add(uid);
      if (isGoing) this.evicted(observed, now);
      const evictedAt = isGoing ? now : undefined;
      return { changedAt, isReplacement: true, isDrainOurs: true, evictedAt, missedUntil: undefined };
    }
    // The clock may have been set back.
    const changedAt = this.#changed.get(uid);
    if (changedAt !== undefined && changedAt > now) this.#changed.set(uid, now);
    const isNew = createdAt > this.#began - CLOCKS_MS && !isGoing && !this.#missing.has(uid);
    if (isNew && !this.#replacements.has(uid)) {
      for (const [replaced, { workload, evictedAt = Infinity }] of this.#missing) {
        if (createdAt <= evictedAt - CLOCKS_MS || workload !== workloadKey(observed)) continue;
        this.#missing.delete(replaced);
        this.#replacements.add(uid);
        break;
      }
    }
    const { evictedAt, until: missedUntil } = this.#missing.get(uid) ?? {};
    return {
      changedAt: changedAt && Math.min(changedAt, now),
      isReplacement: createdAt <= this.#began || this.#replacements.has(uid),
      isDrainOurs: this.#drained.has(uid),
      ...{ evictedAt, missedUntil },
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
    const isBlocked = memo.blocked && memo.blocked.since <= now && now < memo.blocked.until + SAME_BLOCK_MS;
    const blocked = isBlocked ? memo.blocked : undefined;
    const isValid = verdict?.hash === hash && now < (verdict.is.until ?? Number.POSITIVE_INFINITY);
    return { drainingSince, undrainedAt, drainedSince, blocked, verdict: isValid ? verdict.is : undefined };
  }

  #memo(uid: string): Memo {
    const known = this.#memos.get(uid);
    if (known) return known;
    const memo: Memo = { ...NOTHING, written: undefined, verdict: undefined, deniedUntil: 0 };
    this.#memos.set(uid, memo);
    return memo;
  }
}
