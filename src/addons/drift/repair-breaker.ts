/** At most this many workloads may have a pod replaced at the same time. */
const MOST = 8;
/** Delay before a trial eviction after a stop, doubled after each failure. Otherwise no new pod may ever appear. */
const FIRST_TRIAL_MS = 10_000;

/**
 * Keeps repair from doing harm while injection does not work. It starts with one eviction at a time. The limit
 * doubles after each replacement with a sidecar. A replacement without one stops repair until a later pod has a
 * sidecar.
 */
export class RepairBreaker {
  #allowed = 1;
  #trialMs = FIRST_TRIAL_MS;
  #stopped: { readonly why: string; readonly at: number } | undefined;
  /** Controllers with an evicted pod: the UIDs of their pods at that time, and the time. */
  readonly #replacing = new Map<string, { readonly pods: ReadonlySet<string>; readonly since: number }>();

  /** Why repair has stopped; undefined while it has not. */
  get stopped(): string | undefined {
    return this.#stopped?.why;
  }

  /** Controllers that are replacing a pod. */
  get busy(): ReadonlySet<string> {
    return new Set(this.#replacing.keys());
  }

  /** Whether one more pod may be evicted now. */
  mayEvict(now: number): boolean {
    const isHeld = this.#stopped !== undefined && now < this.#stopped.at + this.#trialMs;
    return !isHeld && this.#replacing.size < this.#allowed;
  }

  /**
   * Records the eviction of a pod of this controller, before it is asked for: the replacement may be seen before the
   * answer. `pods` are the UIDs of all its pods.
   */
  evicting(controller: string, pods: ReadonlySet<string>, now: number): void {
    this.#replacing.set(controller, { pods, since: now });
  }

  /** Records a pod of this controller, with or without a sidecar; undefined: it asks for none. Returns whether it is the awaited replacement. */
  seen(
    controller: string,
    pod: { readonly uid: string; readonly createdAt: number; readonly injected: boolean | undefined },
    now: number,
  ): boolean {
    // A newer pod with a sidecar proves that injection works again.
    if (pod.injected && this.#stopped && pod.createdAt > this.#stopped.at) {
      this.#stopped = undefined;
      this.#trialMs = FIRST_TRIAL_MS;
    }
    const replaced = this.#replacing.get(controller);
    if (!replaced || replaced.pods.has(pod.uid)) return false;
    this.#replacing.delete(controller);
    if (pod.injected) this.#allowed = Math.min(MOST, this.#allowed * 2);
    else if (pod.injected === false) {
      if (this.#stopped) this.#trialMs *= 2;
      this.#stopped = {
        why: 'the replacement of an evicted pod has no sidecar, or lacks its status annotation',
        at: now,
      };
      this.#allowed = 1;
    }
    return true;
  }

  /** Records that the pod was not evicted. */
  notEvicted(controller: string): void {
    this.#replacing.delete(controller);
  }

  /** Returns to the initial state. */
  reset(): void {
    this.#allowed = 1;
    this.#trialMs = FIRST_TRIAL_MS;
    this.#stopped = undefined;
    this.#replacing.clear();
  }

  /** Stops waiting for older replacements. A workload that was scaled down or creates no pods proves nothing. */
  giveUp(before: number): void {
    for (const [controller, { since }] of this.#replacing)
      if (since < before) this.#replacing.delete(controller);
  }
}
