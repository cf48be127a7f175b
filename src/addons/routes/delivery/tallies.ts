/** How many sidecars run each version; those that never answered are not in it. */
export type Tally = ReadonlyMap<string, number>;

/** The tally of each namespace. */
export class Tallies {
  readonly #known = new Map<string, Map<string, number>>();
  #hasChanged = false;

  of(namespace: string): Tally {
    return this.#known.get(namespace) ?? new Map();
  }

  /** Counts a sidecar with its new version, and no longer with the one before. */
  count(namespace: string, before: string | undefined, after: string | undefined): void {
    const tally = this.#known.get(namespace) ?? new Map<string, number>();
    const add = (version: string, number: number) => {
      const sum = (tally.get(version) ?? 0) + number;
      if (sum === 0) tally.delete(version);
      else tally.set(version, sum);
    };
    if (before !== undefined) add(before, -1);
    if (after !== undefined) add(after, 1);
    if (tally.size > 0) this.#known.set(namespace, tally);
    else this.#known.delete(namespace);
    this.#hasChanged = true;
  }

  /** Whether a number has changed since the last call. */
  hasChanged(): boolean {
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    return hasChanged;
  }

  clear(): void {
    this.#known.clear();
  }
}
