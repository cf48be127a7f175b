/** How many workloads may have a pod replaced at the same time, at most. */
const MOST = 8;
/** After a stop, when one more pod is tried, and twice that after each that failed: nobody else may be creating any. */
const FIRST_TRIAL_MS = 10_000;

/**
 * Keeps repair from doing harm while injection does not work: it begins with one eviction, does twice as many after each
 * replacement that came back with its sidecar, and stops at the first that came back without, until a later one is right.
 */
export class RepairBreaker {
  #allowed = 1;
  #trialMs = FIRST_TRIAL_MS;
  #stopped: { readonly why: string; readonly at: number } | undefined;
  /** Controllers of which a pod was evicted: the UIDs of the pods that they had by then, and when. */
  readonly #replacing = new Map<string, { readonly pods: ReadonlySet<string>; readonly since: number }>();

  /** Why nothing is evicted any more; undefined while it goes on. */
  get stopped(): string | undefined {
    return this.#stopped?.why;
  }

  /** Controllers of which a pod is being replaced. */
  get busy(): ReadonlySet<string> {
    return new Set(this.#replacing.keys());
  }

  mayEvict(now: number): boolean {
    const isHeld = this.#stopped !== undefined && now < this.#stopped.at + this.#trialMs;
    return !isHeld && this.#replacing.size < this.#allowed;
  }

  /** A pod of this controller was evicted; `pods` are the UIDs of all that it has. */
  evicted(controllerUid: string, pods: ReadonlySet<string>, now: number): void {
    this.#replacing.set(controllerUid, { pods, since: now });
  }

  /** A pod of this controller was seen, with or without its sidecar. True when it is the replacement that was waited for. */
  seen(
    controllerUid: string,
    pod: { readonly uid: string; readonly createdAt: number; readonly injected: boolean },
    now: number,
  ): boolean {
    // One that comes out right since is a proof, whoever made it.
    if (pod.injected && this.#stopped && pod.createdAt > this.#stopped.at) {
      this.#stopped = undefined;
      this.#trialMs = FIRST_TRIAL_MS;
    }
    const replaced = this.#replacing.get(controllerUid);
    if (!replaced || replaced.pods.has(pod.uid)) return false;
    this.#replacing.delete(controllerUid);
    if (pod.injected) this.#allowed = Math.min(MOST, this.#allowed * 2);
    else {
      if (this.#stopped) this.#trialMs *= 2;
      this.#stopped = { why: 'a pod that was evicted came back without its sidecar', at: now };
      this.#allowed = 1;
    }
    return true;
  }

  /** Begins anew. */
  reset(): void {
    this.#allowed = 1;
    this.#trialMs = FIRST_TRIAL_MS;
    this.#stopped = undefined;
    this.#replacing.clear();
  }

  /** No replacement comes any more: the workload was scaled down, or cannot make one. Says nothing about injection. */
  giveUp(before: number): void {
    for (const [uid, { since }] of this.#replacing) if (since < before) this.#replacing.delete(uid);
  }
}
