/** The earliest time to look again. */
export class Wake {
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
