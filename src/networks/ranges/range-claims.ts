import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { hasFinalizer } from '../api/resources.ts';
import { rangesOf, type Subnet, subnetOf } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import { formatRange, parseRange, type Range } from './cidr.ts';
import type { ClusterRange, ClusterRanges } from './cluster-ranges.ts';
import { RangeTree } from './range-tree.ts';

interface Blocker {
  readonly key: ObjectKey;
  readonly cidr: string;
}

export interface Blocked {
  readonly range: Range;
  readonly by: Blocker | ClusterRange;
}

interface Claimant {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly createdAt: string;
  /** The ranges of its spec; none if that is invalid, or the Network is being deleted. */
  wants: readonly Claim[];
  /** The ranges of its real network, and those to which it changes. */
  holds: readonly Claim[];
  /** The key of a Network, or the user of a cluster range. */
  blockedBy: string | undefined;
  /** This process has decided about it, so its memory is newer than the cache. */
  isDecided: boolean;
}

interface Claim {
  readonly claimant: Claimant;
  readonly range: Range;
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
export class RangeClaims {
  readonly #claimants = new Map<ObjectKey, Claimant>();
  readonly #wanted = new RangeTree<Claim>();
  readonly #held = new RangeTree<Claim>();
  /** blocker → Networks that it blocks */
  readonly #blocked = new Map<string, Set<ObjectKey>>();
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
      for (const range of changed) {
        for (const { claimant } of this.#held.overlapping(range)) onFreed(claimant.key);
      }
    });
  }

  /** Records the Network. An ineligible Network does not reserve the range that it asks for. */
  observe(network: Network, isEligible: boolean): void {
    const claimant = this.#claimantOf(network);
    const ranges = isEligible ? parsed(subnetOf(network.spec)) : [];
    if (!claimant.isDecided) this.#hold(claimant, recorded(network));
    const wanted = network.metadata.deletionTimestamp ? [] : ranges;
    if (textOf(claimant.wants.map(({ range }) => range)) === textOf(wanted)) return;
    this.#want(claimant, wanted);
    this.#block(claimant, undefined);
    this.#freeBlocked(claimant.key);
  }

  /** Whether the Network holds these ranges. */
  isHeld(key: ObjectKey, ranges: readonly Range[]): boolean {
    const claimant = this.#claimants.get(key);
    return (
      claimant !== undefined && ranges.length > 0 && ranges.every((range) => holdsRange(claimant, range))
    );
  }

  /** Reserves the ranges that the Network wants, or returns what blocks one of them. */
  claim(key: ObjectKey): Blocked | undefined {
    const claimant = this.#claimants.get(key);
    if (!claimant) return undefined;
    claimant.isDecided = true;
    const missing = claimant.wants.map(({ range }) => range).filter((range) => !holdsRange(claimant, range));
    const found = missing.map((range) => this.#obstacle(claimant, range)).find((one) => one !== undefined);
    if (!found) {
      if (missing.length === 0) return undefined;
      this.#block(claimant, undefined);
      this.#hold(claimant, [...claimant.holds.map((held) => held.range), ...missing]);
      return undefined;
    }
    // This Network cannot have its ranges, so others need not wait for it.
    if (claimant.blockedBy === undefined) this.#freeBlocked(key);
    this.#block(claimant, 'of' in found.by ? found.by.of : found.by.key);
    return found;
  }

  /** Records the ranges of the real network. Frees the previous ones, unless the spec asks for them. */
  settle(key: ObjectKey, subnet: Subnet): void {
    const claimant = this.#claimants.get(key);
    const ranges = parsed(subnet);
    if (!claimant || ranges.length === 0) return;
    claimant.isDecided = true;
    const held = claimant.holds.map((claim) => claim.range);
    const isOne = (of: readonly Range[], range: Range) => of.some((one) => isSame(one, range));
    const wanted = claimant.wants.map(({ range }) => range);
    const kept = held.filter((range) => !isOne(ranges, range) && isOne(wanted, range));
    if (held.length === kept.length + ranges.length && ranges.every((range) => isOne(held, range))) return;
    this.#hold(claimant, [...ranges, ...kept]);
    this.#freeBlocked(key);
  }

  #obstacle(claimant: Claimant, range: Range): Blocked | undefined {
    const used = this.#cluster?.met(range, claimant.blockedBy);
    if (used) return { range, by: used };
    const blocker = this.#blockerOf(claimant, range);
    return blocker && { range, by: { key: blocker.claimant.key, cidr: formatRange(blocker.range) } };
  }

  /** Frees the ranges of a deleted Network. Ignores a newer Network of the same name. */
  forget(key: ObjectKey, uid: string | undefined): void {
    const claimant = this.#claimants.get(key);
    if (!claimant || claimant.uid !== uid) return;
    this.#claimants.delete(key);
    this.#want(claimant, []);
    this.#hold(claimant, []);
    this.#block(claimant, undefined);
    this.#freeBlocked(key);
  }

  #claimantOf(network: Network): Claimant {
    const { uid = '', creationTimestamp: createdAt = '' } = network.metadata;
    const key = keyOf(network);
    const known = this.#claimants.get(key);
    if (known?.uid === uid) return known;
    this.forget(key, known?.uid);
    const nothing = {
      wants: [],
      holds: [],
      blockedBy: undefined,
      isDecided: false,
    };
    const claimant: Claimant = { key, uid, createdAt, ...nothing };
    this.#claimants.set(key, claimant);
    return claimant;
  }

  #blockerOf(claimant: Claimant, range: Range): Claim | undefined {
    let blocker: Claim | undefined;
    for (const claim of this.#held.overlapping(range)) {
      if (claim.claimant === claimant) continue;
      // Keep naming the same blocker, so that the message does not change without a reason.
      if (claim.claimant.key === claimant.blockedBy) return claim;
      if (!blocker || precedes(claim.claimant, blocker.claimant)) blocker = claim;
    }
    if (blocker) return blocker;
    for (const claim of this.#wanted.overlapping(range)) {
      if (claim.claimant.blockedBy !== undefined || !precedes(claim.claimant, claimant)) continue;
      if (!blocker || precedes(claim.claimant, blocker.claimant)) blocker = claim;
    }
    return blocker;
  }

  #want(claimant: Claimant, ranges: readonly Range[]): void {
    for (const claim of claimant.wants) this.#wanted.delete(claim.range, claim);
    claimant.wants = ranges.map((range) => ({ claimant, range }));
    for (const claim of claimant.wants) this.#wanted.add(claim.range, claim);
  }

  #hold(claimant: Claimant, ranges: readonly Range[]): void {
    for (const claim of claimant.holds) this.#held.delete(claim.range, claim);
    claimant.holds = ranges.map((range) => ({ claimant, range }));
    for (const claim of claimant.holds) this.#held.add(claim.range, claim);
  }

  #block(claimant: Claimant, blocker: string | undefined): void {
    if (claimant.blockedBy !== undefined) this.#blocked.get(claimant.blockedBy)?.delete(claimant.key);
    claimant.blockedBy = blocker;
    if (blocker === undefined) return;
    const others = this.#blocked.get(blocker) ?? new Set();
    this.#blocked.set(blocker, others.add(claimant.key));
  }

  #freeBlocked(blocker: string): void {
    const blocked = this.#blocked.get(blocker) ?? [];
    this.#blocked.delete(blocker);
    for (const freed of blocked) {
      const claimant = this.#claimants.get(freed);
      if (claimant?.blockedBy === blocker) claimant.blockedBy = undefined;
      this.#onFreed(freed);
    }
  }
}

/** What another process has reserved for the Network, as its status shows: before the first one, no pod is on it. */
function recorded(network: Network): readonly Range[] {
  const { cidr, secondary } = network.status ?? {};
  if (cidr === undefined || !hasFinalizer(network, NETWORK_FINALIZER)) return [];
  // No network has all addresses. A status that says so, of etcd, would keep every other Network from its range.
  return parsed({ cidr, gateway: '', ...(secondary && { secondary }) }).filter(
    (range) => range.prefixLength > 0,
  );
}

function holdsRange({ holds }: Claimant, range: Range): boolean {
  return holds.some((held) => isSame(held.range, range));
}

function precedes(a: Claimant, b: Claimant): boolean {
  // RFC 3339 in UTC with whole seconds, as the API server writes it, sorts by time.
  return a.createdAt === b.createdAt ? a.uid < b.uid : a.createdAt < b.createdAt;
}

function isSame(a: Range, b: Range): boolean {
  return formatRange(a) === formatRange(b);
}

function textOf(ranges: readonly Range[]): string {
  return ranges.map(formatRange).join();
}

/** The ranges of a subnet, as far as they are valid. */
export function parsed(subnet: Subnet): readonly Range[] {
  return rangesOf(subnet).flatMap(({ cidr }) => parseRange(cidr) ?? []);
}
