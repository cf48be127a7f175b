import type { KubeObject } from '../kube/api/object.ts';
import type { RolloutPod } from './core/pod.ts';
import type { Observed, ObservedPod } from './observe.ts';

/** What this process has learnt about a pod. */
interface Memo {
  /** The pod as the last write returned it. */
  written: { readonly resourceVersion: string; readonly observed: Observed } | undefined;
  /** Since when this process has known it with the annotation of a drain. */
  drainingSince: number | undefined;
  drainedSince: number | undefined;
  /** For templates with this hash. */
  verdict: { readonly hash: string; readonly is: NonNullable<RolloutPod['verdict']> } | undefined;
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

  judged(uid: string, hash: string, is: NonNullable<RolloutPod['verdict']>): void {
    this.#memo(uid).verdict = { hash, is };
  }

  block(uid: string, blocked: NonNullable<RolloutPod['blocked']>): void {
    this.#memo(uid).blocked = blocked;
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
  recall(
    { uid, isDraining, canDrain, ready }: Observed,
    hash: string,
    now: number,
  ): Pick<RolloutPod, 'drainingSince' | 'drainedSince' | 'verdict' | 'blocked'> {
    const isDrained = isDraining && (!canDrain || ready === false);
    const memo = isDraining ? this.#memo(uid) : this.#memos.get(uid);
    if (!memo)
      return { drainingSince: undefined, drainedSince: undefined, verdict: undefined, blocked: undefined };
    memo.drainingSince = isDraining ? (memo.drainingSince ?? now) : undefined;
    memo.drainedSince = isDrained ? (memo.drainedSince ?? now) : undefined;
    const { verdict, blocked, drainingSince, drainedSince } = memo;
    return { drainingSince, drainedSince, blocked, verdict: verdict?.hash === hash ? verdict.is : undefined };
  }

  #memo(uid: string): Memo {
    const known = this.#memos.get(uid);
    if (known) return known;
    const memo = {
      written: undefined,
      drainingSince: undefined,
      drainedSince: undefined,
      verdict: undefined,
      blocked: undefined,
    };
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
