import type { ObjectKey } from '../../kube/api/object.ts';
import type { Refusal } from '../providers.ts';
import type { Pool } from './pool.ts';

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

/** Who has which addresses of a pool. */
interface Part {
  readonly pool: Pool;
  /** By address, the holders by their ID. */
  readonly holders: Map<bigint, Map<string, Holder>>;
  /** The address that was given last: the next one is after it, so that an address rests before it is reused. */
  last: bigint;
  /** How many addresses for pods have a holder. */
  taken: number;
}

/** An address in its pool. */
interface Spot {
  readonly part: Part;
  readonly place: bigint;
}

/** The holders of a Network's addresses. An address can have several holders, because users can write any address. */
export class Allocations {
  /** One, or one for each family. */
  readonly #parts: readonly Part[];
  /** By the ID of the holder. */
  readonly #held = new Map<string, Spot[]>();

  constructor(pools: readonly Pool[]) {
    this.#parts = pools.map((pool) => ({ pool, holders: new Map(), last: 0n, taken: 0 }));
  }

  /** Whether it has no holder, and never gave an address. */
  get isUnused(): boolean {
    return this.#held.size === 0 && this.#parts.every(({ last }) => last === 0n);
  }

  /** The number of addresses for pods in the pool with the fewest free ones, and how many of them are taken. */
  get counts(): { readonly total: number; readonly taken: number } {
    const counts = this.#parts.map(({ pool: { total }, taken }) => ({ total, taken }));
    const [fullest] = counts.sort((a, b) => a.total - a.taken - (b.total - b.taken));
    return fullest ?? { total: 0, taken: 0 };
  }

  /** Records that the holder has exactly these addresses. Addresses outside of the pools do not count. */
  hold(holder: Holder, addresses: Iterable<string>): void {
    this.release(holder.id);
    this.add(holder, addresses);
  }

  /** Records that the holder also has these addresses. */
  add(holder: Holder, addresses: Iterable<string>): void {
    for (const address of addresses) {
      const spot = this.#spotOf(address);
      if (spot) this.#take(holder, spot);
    }
  }

  release(id: string): void {
    for (const { part, place } of this.#held.get(id) ?? []) {
      const holders = part.holders.get(place);
      holders?.delete(id);
      if (holders?.size !== 0) continue;
      part.holders.delete(place);
      if (part.pool.gives(place)) part.taken -= 1;
    }
    this.#held.delete(id);
  }

  /** Gives the holder one more address of each pool; undefined, and nothing is given, if a pool has none. */
  give(holder: Holder): readonly string[] | undefined {
    const chosen: Spot[] = [];
    for (const part of this.#parts) {
      const { pool, holders, last, taken } = part;
      const place = taken === pool.total ? undefined : pool.next(last, (each) => holders.has(each));
      if (place === undefined) return undefined;
      chosen.push({ part, place });
    }
    return chosen.map(({ part, place }) => {
      part.last = place;
      this.#take(holder, { part, place });
      return part.pool.textOf(place);
    });
  }

  /** The holders of the address, without those that only ask for it. */
  holdersOf(address: string): readonly Holder[] {
    const spot = this.#spotOf(address);
    return [...(spot?.part.holders.get(spot.place)?.values() ?? [])].filter(({ asks }) => !asks);
  }

  /** Why no pod may have the address on this Network, as the end of a sentence; undefined if one may. */
  problemOf(address: string): string | undefined {
    const spot = this.#spotOf(address);
    if (!spot) return 'is not in the range of';
    const { pool } = spot.part;
    return pool.problemOf(spot.place) ?? pool.spellingProblem(address);
  }

  /** The address in canonical form, without a prefix length; undefined if no pod may have it on this Network. */
  plainOf(address: string): string | undefined {
    const { part, place } = this.#spotOf(address) ?? {};
    if (!part || place === undefined || part.pool.problemOf(place) !== undefined) return undefined;
    return part.pool.plainOf(place);
  }

  /** The address with a prefix length. */
  withPrefix(address: string): string {
    return this.#spotOf(address)?.part.pool.withPrefix(address) ?? address;
  }

  #spotOf(address: string): Spot | undefined {
    for (const part of this.#parts) {
      const place = part.pool.placeOf(address);
      if (place !== undefined) return { part, place };
    }
    return undefined;
  }

  #take(holder: Holder, spot: Spot): void {
    const { part, place } = spot;
    const holders = part.holders.get(place) ?? new Map<string, Holder>();
    if (holders.size === 0 && part.pool.gives(place)) part.taken += 1;
    const held = this.#held.get(holder.id) ?? [];
    if (!holders.has(holder.id)) held.push(spot);
    this.#held.set(holder.id, held);
    part.holders.set(place, holders.set(holder.id, holder));
  }
}

/** What a pod wants of a network in Multus' annotation. */
export interface AddressRequest {
  /** The place of the network in the annotation. */
  readonly index: number;
  readonly network: ObjectKey;
  /** The addresses that the pod must have; empty for any. */
  readonly ips: readonly string[];
}

/**
 * Gives the holder what it wants on a Network. Returns the addresses as CNI plugins expect them. After a refusal the
 * allocations have not changed.
 */
export function give(
  allocations: Allocations,
  holder: Holder,
  { network, ips }: AddressRequest,
): readonly string[] | Refusal {
  if (ips.length === 0) {
    const { taken, total } = allocations.counts;
    const why = `Network ${network} has no free address (${taken} of ${total} taken): delete pods on it, or use another Network`;
    return allocations.give(holder) ?? { reason: 'AddressesExhausted', why };
  }
  for (const ip of ips) {
    const problem = allocations.problemOf(ip);
    if (problem !== undefined) {
      const why = `${ip} ${problem} Network ${network}: recreate the pod with another address, or none`;
      return { reason: 'InvalidNetworkAnnotation', why };
    }
    const other = allocations.holdersOf(ip).find(({ id }) => id !== holder.id);
    if (other)
      return {
        reason: 'WaitsForNetwork',
        why: `${ip} of Network ${network} is the address of ${other.name}`,
      };
  }
  allocations.add(holder, ips);
  return ips.map((ip) => allocations.withPrefix(ip));
}
