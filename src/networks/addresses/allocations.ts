import type { Place, Pool } from './pool.ts';

/** A pod that has addresses, or asks for them. */
export interface Holder {
  /** Unique for all time. */
  readonly id: string;
  /** For messages, for example `pod default/s1`. */
  readonly name: string;
  /** The key of its pod. */
  readonly pod?: string;
  /** It only asks for the addresses: they are not given to others, but another pod can take them by name. */
  readonly asks?: true;
}

/** The holders of a Network's addresses. An address can have several holders, because users can write any address. */
export class Allocations {
  /** One, or one for each family. */
  readonly pools: readonly Pool[];
  /** The holders of each place by their ID, by pool. */
  readonly #holders: readonly Map<Place, Map<string, Holder>>[];
  /** The places of each holder, by pool. */
  readonly #held = new Map<string, readonly Set<Place>[]>();
  /** The last place that was given, by pool: the next one is after it, so that an address rests before it is reused. */
  readonly #last: number[];
  readonly #taken: number[];

  constructor(pools: readonly Pool[]) {
    this.pools = pools;
    this.#holders = pools.map(() => new Map());
    this.#last = pools.map(() => 0);
    this.#taken = pools.map(() => 0);
  }

  /** Whether it has no holder, and never gave an address. */
  get isUnused(): boolean {
    return this.#held.size === 0 && this.#last.every((place) => place === 0);
  }

  /** The number of addresses for pods, in the smallest pool. */
  get total(): number {
    return this.#fullest().total;
  }

  /** How many of them are taken. */
  get taken(): number {
    return this.#fullest().taken;
  }

  /** Records that the holder has exactly these addresses. Addresses outside of the pools do not count. */
  hold(holder: Holder, addresses: Iterable<string>): void {
    this.release(holder.id);
    this.add(holder, addresses);
  }

  /** Records that the holder also has these addresses. */
  add(holder: Holder, addresses: Iterable<string>): void {
    for (const address of addresses) {
      const found = this.#find(address);
      if (found) this.#add(holder, found.index, found.place);
    }
  }

  release(id: string): void {
    const held = this.#held.get(id);
    if (!held) return;
    this.#held.delete(id);
    for (const [index, places] of held.entries()) {
      for (const place of places) this.#remove(id, index, place);
    }
  }

  /** Gives the holder one more address of each pool; undefined, and nothing is given, if a pool has none. */
  give(holder: Holder): readonly string[] | undefined {
    const chosen = this.pools.map((pool, index) => {
      const holders = this.#holders[index];
      if (this.#taken[index] === pool.total) return undefined;
      return pool.next(this.#last[index] ?? 0, (place) => holders?.has(place) ?? false);
    });
    if (!chosen.every((place) => place !== undefined)) return undefined;
    return chosen.map((place, index) => {
      this.#last[index] = place;
      this.#add(holder, index, place);
      return this.pools[index]?.textOf(place) ?? '';
    });
  }

  /** The holders of the address, without those that only ask for it. */
  holdersOf(address: string): readonly Holder[] {
    const found = this.#find(address);
    const holders = found && this.#holders[found.index]?.get(found.place);
    return [...(holders?.values() ?? [])].filter(({ asks }) => !asks);
  }

  /** Why no pod may have the address on this Network, as the end of a sentence; undefined if one may. */
  problemOf(address: string): string | undefined {
    return this.#problemOf(address) ?? this.#pool(address)?.spellingProblem(address);
  }

  /** The address in canonical form, without a prefix length; undefined if no pod may have it on this Network. */
  plainOf(address: string): string | undefined {
    const found = this.#find(address);
    if (!found || this.#problemOf(address) !== undefined) return undefined;
    const { place } = found;
    return typeof place === 'string' ? place : this.pools[found.index]?.textOf(place).replace(/\/.*/, '');
  }

  /** The address with a prefix length. */
  withPrefix(address: string): string {
    return this.#pool(address)?.withPrefix(address) ?? address;
  }

  #problemOf(address: string): string | undefined {
    const found = this.#find(address);
    return found ? this.pools[found.index]?.problemOf(found.place) : 'is not in its range';
  }

  #pool(address: string): Pool | undefined {
    const found = this.#find(address);
    return found && this.pools[found.index];
  }

  #find(address: string): { readonly index: number; readonly place: Place } | undefined {
    for (const [index, pool] of this.pools.entries()) {
      const place = pool.placeOf(address);
      if (place !== undefined) return { index, place };
    }
    return undefined;
  }

  #add(holder: Holder, index: number, place: Place): void {
    const held = this.#held.get(holder.id) ?? this.pools.map(() => new Set<Place>());
    this.#held.set(holder.id, held);
    held[index]?.add(place);
    const holders = this.#holders[index];
    const others = holders?.get(place);
    if (others) others.set(holder.id, holder);
    else {
      holders?.set(place, new Map([[holder.id, holder]]));
      this.#count(index, place, 1);
    }
  }

  #remove(id: string, index: number, place: Place): void {
    const holders = this.#holders[index]?.get(place);
    holders?.delete(id);
    if (holders?.size !== 0) return;
    this.#holders[index]?.delete(place);
    this.#count(index, place, -1);
  }

  #count(index: number, place: Place, by: 1 | -1): void {
    if (this.pools[index]?.gives(place)) this.#taken[index] = (this.#taken[index] ?? 0) + by;
  }

  #fullest(): { readonly total: number; readonly taken: number } {
    const counts = this.pools.map(({ total }, index) => ({ total, taken: this.#taken[index] ?? 0 }));
    const free = ({ total, taken }: { readonly total: number; readonly taken: number }) => total - taken;
    return counts.reduce((a, b) => (free(b) < free(a) ? b : a), counts[0] ?? { total: 0, taken: 0 });
  }
}
