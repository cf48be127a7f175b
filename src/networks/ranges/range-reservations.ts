import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { MultiMap } from '../../kube/util/multi-map.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { hasFinalizer } from '../api/resources.ts';
import { rangesOf, type Subnet, subnetOf } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import { overlaps, parseRange, type Range } from './cidr.ts';
import type { ClusterRange, ClusterRanges } from './cluster-ranges.ts';
import { RangeTree } from './range-tree.ts';

interface Blocker {
  readonly key: ObjectKey;
  readonly cidr: string;
}

export interface Blocked {
  readonly cidr: string;
  readonly by: Blocker | ClusterRange;
}

/** A Network. Its ranges are in canonical form. */
interface Reservation {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly createdAt: string;
  /** The ranges of its spec; none if that is invalid, or the Network is being deleted. */
  wants: readonly string[];
  /** The ranges of its real network, and those to which it changes. */
  holds: readonly string[];
  /** Those of `holds` that this process gave it or found, which the cache may not show yet. */
  given: readonly string[];
  /** The key of a Network, or the user of a cluster range. */
  blockedBy: string | undefined;
}

/**
 * Which Network has which ranges, for one provider. A Network with two ranges gets both or none. A Network keeps the range that it holds. Among those that only
 * want a range, the older Network gets it, then the one with the smaller UID. Checking and reserving happen in the
 * same turn of the event loop, so two concurrent reconciles cannot both get a range.
 *
 * The status shows what an earlier leader reserved, because only the operator writes it.
 *
 * A cluster range blocks each Network that does not hold its range yet.
 */
export class RangeReservations {
  readonly #reservations = new Map<ObjectKey, Reservation>();
  /** By what they want and hold. */
  readonly #tree = new RangeTree<Reservation>();
  /** By what blocks them. */
  readonly #blocked = new MultiMap<string, Reservation>();
  readonly #cluster: Pick<ClusterRanges, 'met'> | undefined;
  readonly #onFreed: (key: ObjectKey) => void;

  /**
   * Calls `onFreed` for each Network whose blocker changed or is gone, and for each that overlaps a changed cluster
   * range.
   */
  constructor(onFreed: (key: ObjectKey) => void, cluster?: Pick<ClusterRanges, 'met' | 'onChange'>) {
    this.#onFreed = onFreed;
    this.#cluster = cluster;
    cluster?.onChange((of, changed) => {
      this.#freeBlocked(of);
      for (const range of changed) for (const { key } of this.#tree.overlapping(range)) onFreed(key);
    });
  }

  /** Records the Network. An ineligible Network does not reserve the range that it asks for. */
  observe(network: Network, isEligible: boolean): void {
    const reservation = this.#reservationOf(network);
    const isWanted = isEligible && !network.metadata.deletionTimestamp;
    const wants = isWanted ? cidrsOf(subnetOf(network.spec)) : [];
    if (`${wants}` !== `${reservation.wants}`) this.#block(reservation, undefined);
    this.#record(reservation, wants, [...new Set([...recorded(network), ...reservation.given])]);
  }

  /** Whether the Network holds the ranges of its spec. */
  isHeld(network: Network): boolean {
    const { holds = [] } = this.#reservations.get(keyOf(network)) ?? {};
    const cidrs = cidrsOf(subnetOf(network.spec));
    return cidrs.length > 0 && cidrs.every((cidr) => holds.includes(cidr));
  }

  /** Reserves the ranges that the Network wants, or returns what blocks one of them. */
  reserve(key: ObjectKey): Blocked | undefined {
    const reservation = this.#reservations.get(key);
    if (!reservation) return undefined;
    const missing = reservation.wants.filter((cidr) => !reservation.holds.includes(cidr));
    for (const cidr of missing) {
      const range = parseRange(cidr);
      const by =
        range && (this.#cluster?.met(range, reservation.blockedBy) ?? this.#blockerOf(reservation, range));
      if (!by) continue;
      // This Network cannot have its ranges, so others need not wait for it.
      if (reservation.blockedBy === undefined) this.#freeBlocked(key);
      this.#block(reservation, 'of' in by ? by.of : by.key);
      return { cidr, by };
    }
    this.#block(reservation, undefined);
    reservation.given = [...reservation.given, ...missing];
    this.#record(reservation, reservation.wants, [...reservation.holds, ...missing]);
    return undefined;
  }

  /** Records the ranges that the real network has or may get. Frees all others, unless the spec asks for them. */
  settle(key: ObjectKey, ...real: readonly (Subnet | undefined)[]): void {
    const reservation = this.#reservations.get(key);
    if (!reservation) return;
    const { wants, holds } = reservation;
    const cidrs = real.flatMap((subnet) => (subnet ? cidrsOf(subnet) : []));
    reservation.given = [...new Set([...cidrs, ...holds.filter((cidr) => wants.includes(cidr))])];
    this.#record(reservation, wants, reservation.given);
  }

  /** Frees the ranges of a deleted Network. Ignores a newer Network of the same name. */
  forget(key: ObjectKey, uid: string | undefined): void {
    const reservation = this.#reservations.get(key);
    if (!reservation || reservation.uid !== uid) return;
    this.#reservations.delete(key);
    this.#record(reservation, [], []);
    this.#block(reservation, undefined);
  }

  #reservationOf(network: Network): Reservation {
    const { uid = '', creationTimestamp: createdAt = '' } = network.metadata;
    const key = keyOf(network);
    const known = this.#reservations.get(key);
    if (known?.uid === uid) return known;
    this.forget(key, known?.uid);
    const nothing = { wants: [], holds: [], given: [], blockedBy: undefined };
    const reservation: Reservation = { key, uid, createdAt, ...nothing };
    this.#reservations.set(key, reservation);
    return reservation;
  }

  /** What another Network holds of the range, or wants if it comes first and nothing blocks it. */
  #blockerOf(reservation: Reservation, range: Range): Blocker | undefined {
    const rivals = [...new Set(this.#tree.overlapping(range))].flatMap((other) => {
      if (other === reservation) return [];
      const isFirst = other.blockedBy === undefined && precedes(other, reservation);
      const cidr = met(other.holds, range) ?? (isFirst ? met(other.wants, range) : undefined);
      return cidr === undefined ? [] : [{ ...other, cidr }];
    });
    const [first] = rivals.toSorted((a, b) => (precedes(a, b) ? -1 : 1));
    // Keep naming the same blocker, so that the message does not change without a reason.
    const blocker = rivals.find(({ key }) => key === reservation.blockedBy) ?? first;
    return blocker && { key: blocker.key, cidr: blocker.cidr };
  }

  #record(reservation: Reservation, wants: readonly string[], holds: readonly string[]): void {
    if (`${wants} ${holds}` === `${reservation.wants} ${reservation.holds}`) return;
    const before = [...reservation.wants, ...reservation.holds];
    for (const range of parsed(before)) this.#tree.delete(range, reservation);
    reservation.wants = wants;
    // No network has all addresses. A status that says so, of etcd, would keep every other Network from its range.
    reservation.holds = holds.filter((cidr) => !cidr.endsWith('/0'));
    for (const range of parsed([...wants, ...reservation.holds])) this.#tree.add(range, reservation);
    if (before.some((cidr) => ![...wants, ...holds].includes(cidr))) this.#freeBlocked(reservation.key);
  }

  #block(reservation: Reservation, blocker: string | undefined): void {
    if (reservation.blockedBy !== undefined) this.#blocked.delete(reservation.blockedBy, reservation);
    reservation.blockedBy = blocker;
    if (blocker !== undefined) this.#blocked.add(blocker, reservation);
  }

  #freeBlocked(blocker: string): void {
    for (const reservation of [...this.#blocked.get(blocker)]) {
      this.#block(reservation, undefined);
      this.#onFreed(reservation.key);
    }
  }
}

/** What another process has reserved for the Network, as its status shows: before the first one, no pod is on it. */
function recorded(network: Network): readonly string[] {
  const { cidr, secondary } = network.status ?? {};
  if (cidr === undefined || !hasFinalizer(network, NETWORK_FINALIZER)) return [];
  return cidrsOf({ cidr, gateway: '', ...(secondary && { secondary }) });
}

function precedes(a: Reservation, b: Reservation): boolean {
  // RFC 3339 in UTC with whole seconds, as the API server writes it, sorts by time.
  return a.createdAt === b.createdAt ? a.uid < b.uid : a.createdAt < b.createdAt;
}

/** The one that overlaps the range. */
function met(cidrs: readonly string[], range: Range): string | undefined {
  return cidrs.find((cidr) => parsed([cidr]).some((one) => overlaps(one, range)));
}

/** The ranges of a subnet in canonical form, as far as they are valid. */
export function cidrsOf(subnet: Subnet): readonly string[] {
  return rangesOf(subnet).flatMap(({ cidr }) => (parseRange(cidr) ? cidr : []));
}

export function parsed(cidrs: readonly string[]): readonly Range[] {
  return cidrs.flatMap((cidr) => parseRange(cidr) ?? []);
}
