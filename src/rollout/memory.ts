import type { KubeObject } from '../kube/api/object.ts';
import type { RolloutPod, Verdict } from './core/pod.ts';
import type { Observed, ObservedPod } from './observe.ts';

/** After which time a refused pod is tried again: rights, policies and the pod itself change. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [60_000, 3_600_000];

/** A pod that is asked about again later than this may have been free meanwhile. */
const SAME_BLOCK_MS = 60_000;

/** What a rollout remembers of a pod. */
type Recalled = Pick<RolloutPod, 'drainingSince' | 'undrainedAt' | 'drainedSince' | 'verdict' | 'blocked'>;

/** Of a pod about which nothing is known. */
export const NOTHING: Recalled = {
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
  verdict: { readonly hash: string; readonly is: Verdict; readonly refusals: number } | undefined;
  blocked: RolloutPod['blocked'];
}

/**
 * What the cluster does not say, or not yet: answers of the API server, and writes that the cache has not seen. All of
 * it can be found out again, so that the next leader needs none of it.
 */
export class PodMemory {
  readonly #memos = new Map<string, Memo>();

  /** Keeps the pod that a write returned until the cache has it. */
  wrote(pod: KubeObject, observed: Observed | undefined): void {
    const { uid, resourceVersion = '' } = pod.metadata;
    if (uid !== undefined && observed) this.#memo(uid).written = { resourceVersion, observed };
  }

  /** A verdict for templates with this hash. A refusal holds for a while, and longer each time. */
  judged(uid: string, hash: string, { how, why }: Omit<Verdict, 'until'>, now: number): void {
    const memo = this.#memo(uid);
    const refusals = memo.verdict?.hash === hash ? memo.verdict.refusals : 0;
    const until = now + Math.min(FIRST_RETRY_MS * 2 ** refusals, LAST_RETRY_MS);
    const is = { how, why, ...(how === 'refused' && { until }) };
    memo.verdict = { hash, is, refusals: refusals + 1 };
  }

  /** Its disruption is not allowed for a time. Asked again soon after, and refused again, it is still the same wait. */
  block(uid: string, why: string, now: number, ms: number): void {
    const memo = this.#memo(uid);
    const { blocked } = memo;
    const isSame = blocked?.why === why && now < blocked.until + SAME_BLOCK_MS;
    memo.blocked = { until: now + ms, since: isSame ? blocked.since : now, why };
  }

  /** Forgets what the settings of namespaces, or the templates, have led to. */
  reconsider(): void {
    for (const memo of this.#memos.values()) memo.verdict = undefined;
  }

  forget(uid: string): void {
    this.#memos.delete(uid);
  }

  clear(): void {
    this.#memos.clear();
  }

  /** The newest state of a pod; undefined for one without a sidecar. */
  newest({ metadata, observed }: ObservedPod): Observed | undefined {
    const memo = this.#memos.get(metadata.uid ?? '');
    if (!memo?.written) return observed;
    if (isNewer(memo.written.resourceVersion, metadata.resourceVersion)) return memo.written.observed;
    memo.written = undefined;
    return observed;
  }

  /** What is remembered of a pod, for templates with this hash. */
  recall({ uid, isDraining, canDrain, ready }: Observed, hash: string, now: number): Recalled {
    const isDrained = isDraining && (!canDrain || ready === false);
    const memo = isDraining ? this.#memo(uid) : this.#memos.get(uid);
    if (!memo) return NOTHING;
    if (!isDraining && memo.drainingSince !== undefined) memo.undrainedAt = now;
    memo.drainingSince = isDraining ? (memo.drainingSince ?? now) : undefined;
    memo.drainedSince = isDrained ? (memo.drainedSince ?? now) : undefined;
    const { verdict, drainingSince, undrainedAt, drainedSince } = memo;
    const blocked = memo.blocked && now < memo.blocked.until + SAME_BLOCK_MS ? memo.blocked : undefined;
    const isValid = verdict?.hash === hash && now < (verdict.is.until ?? Number.POSITIVE_INFINITY);
    return { drainingSince, undrainedAt, drainedSince, blocked, verdict: isValid ? verdict.is : undefined };
  }

  #memo(uid: string): Memo {
    const known = this.#memos.get(uid);
    if (known) return known;
    const memo: Memo = { ...NOTHING, written: undefined, verdict: undefined };
    this.#memos.set(uid, memo);
    return memo;
  }
}

/** Versions of one resource are decimal numbers that grow (KEP-5504). Any others are only compared for equality. */
function isNewer(version: string, than = ''): boolean {
  const isNumber = (text: string) => /^[1-9]\d*$/.test(text);
  if (!isNumber(version) || !isNumber(than)) return false;
  return version.length === than.length ? version > than : version.length > than.length;
}
