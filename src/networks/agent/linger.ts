/** Tells which bridges have been unused for some time. */
export class Linger {
  readonly #lingerMs: number;
  readonly #since = new Map<string, number>();

  constructor(lingerMs: number) {
    this.#lingerMs = lingerMs;
  }

  /**
   * Call it in each round, with all unused bridges. Returns those that were unused in a round at least the given time
   * ago, and in each round since.
   */
  due(unneeded: ReadonlySet<string>, nowMs: number): ReadonlySet<string> {
    for (const bridge of this.#since.keys()) if (!unneeded.has(bridge)) this.#since.delete(bridge);
    const due = new Set<string>();
    for (const bridge of unneeded) {
      const since = this.#since.get(bridge);
      if (since === undefined) this.#since.set(bridge, nowMs);
      else if (nowMs - since >= this.#lingerMs) due.add(bridge);
    }
    return due;
  }
}
