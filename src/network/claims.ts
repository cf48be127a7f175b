import { keyOf, type ObjectKey } from '../kube/object.ts';
import { formatRange, parseRange, type Range } from './cidr.ts';
import { hasFinalizer } from './finalizer.ts';
import { NETWORK_FINALIZER } from './names.ts';
import { RangeTree } from './range-tree.ts';
import type { Network } from './types.ts';

/** Whose range is in the way, and which. */
export interface Blocker {
  readonly key: ObjectKey;
  readonly cidr: string;
}

interface Claimant {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly createdAt: string;
  /** What its spec asks for; undefined where that is invalid, or the Network is being deleted. */
  wants: Claim | undefined;
  /** What it was given: the range of its real network, and one that it is changing to. */
  holds: readonly Claim[];
  blockedBy: ObjectKey | undefined;
  /** This process has decided about it, and knows better than a cache what it holds. */
  isDecided: boolean;
}

interface Claim {
  readonly claimant: Claimant;
  readonly range: Range;
}

/**
 * Which Network has which range, for one provider. Whoever holds a range keeps it; among those that want one and do
 * not hold it, the older Network gets it, then the one with the smaller UID. A range is taken in the same turn of
 * the event loop that finds it free, so that two reconciles at once cannot both have it, whatever their caches show.
 *
 * What another process gave, before this one became the leader, is known by the finalizer, which goes on before
 * anything is made.
 */
export class Claims {
  readonly #claimants = new Map<ObjectKey, Claimant>();
  readonly #wanted = new RangeTree<Claim>();
  readonly #held = new RangeTree<Claim>();
  /** blocker → those it blocks */
  readonly #blocked = new Map<ObjectKey, Set<ObjectKey>>();
  readonly #onFreed: (key: ObjectKey) => void;

  /** `onFreed` is told each Network that should try again, since the one that blocked it has changed or gone. */
  constructor(onFreed: (key: ObjectKey) => void) {
    this.#onFreed = onFreed;
  }

  /** Takes in the Network as it is now known; one that is not eligible stands in nobody's way with what it wants. */
  observe(network: Network, isEligible: boolean): void {
    const claimant = this.#claimantOf(network);
    if (!claimant.isDecided) this.#hold(claimant, givenTo(network, claimant));
    const range = isEligible ? parseRange(network.spec.cidr) : undefined;
    if (isSame(claimant.wants?.range, range)) return;
    this.#want(claimant, range);
    this.#block(claimant, undefined);
    this.#freeBlocked(claimant.key);
  }

  /** Takes the range that the Network wants, or returns who is in the way. */
  claim(key: ObjectKey): Blocker | undefined {
    const claimant = this.#claimants.get(key);
    const range = claimant?.wants?.range;
    if (claimant) claimant.isDecided = true;
    if (!claimant || !range || claimant.holds.some((held) => isSame(held.range, range))) return undefined;
    const blocker = this.#blockerOf(claimant, range);
    if (!blocker) {
      this.#block(claimant, undefined);
      this.#hold(claimant, [...claimant.holds.map((held) => held.range), range]);
      return undefined;
    }
    // Those that it stood in the way of need not wait for one that cannot have the range itself.
    if (claimant.blockedBy === undefined) this.#freeBlocked(key);
    this.#block(claimant, blocker.claimant.key);
    return { key: blocker.claimant.key, cidr: formatRange(blocker.range) };
  }

  /** The real network has this range now: what it had before is free, unless it is to be changed to that. */
  settle(key: ObjectKey, cidr: string): void {
    const claimant = this.#claimants.get(key);
    const range = parseRange(cidr);
    if (!claimant || !range) return;
    claimant.isDecided = true;
    const held = claimant.holds.map((claim) => claim.range);
    const kept = held.filter((other) => !isSame(other, range) && isSame(other, claimant.wants?.range));
    if (held.length === kept.length + 1 && held.some((other) => isSame(other, range))) return;
    this.#hold(claimant, [range, ...kept]);
    this.#freeBlocked(key);
  }

  /** The Network is gone. One that was made since under its name is another. */
  forget(key: ObjectKey, uid: string | undefined): void {
    const claimant = this.#claimants.get(key);
    if (!claimant || claimant.uid !== uid) return;
    this.#claimants.delete(key);
    this.#want(claimant, undefined);
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
    const nothing = { wants: undefined, holds: [], blockedBy: undefined, isDecided: false };
    const claimant: Claimant = { key, uid, createdAt, ...nothing };
    this.#claimants.set(key, claimant);
    return claimant;
  }

  #blockerOf(claimant: Claimant, range: Range): Claim | undefined {
    let blocker: Claim | undefined;
    for (const claim of this.#held.overlapping(range)) {
      if (claim.claimant === claimant) continue;
      // The one named before, as long as it is in the way: the message should not change without a reason.
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

  #want(claimant: Claimant, range: Range | undefined): void {
    if (claimant.wants) this.#wanted.delete(claimant.wants.range, claimant.wants);
    claimant.wants = range && { claimant, range };
    if (claimant.wants) this.#wanted.add(claimant.wants.range, claimant.wants);
  }

  #hold(claimant: Claimant, ranges: readonly Range[]): void {
    for (const claim of claimant.holds) this.#held.delete(claim.range, claim);
    claimant.holds = ranges.map((range) => ({ claimant, range }));
    for (const claim of claimant.holds) this.#held.add(claim.range, claim);
  }

  #block(claimant: Claimant, blocker: ObjectKey | undefined): void {
    if (claimant.blockedBy !== undefined) this.#blocked.get(claimant.blockedBy)?.delete(claimant.key);
    claimant.blockedBy = blocker;
    if (blocker === undefined) return;
    const others = this.#blocked.get(blocker) ?? new Set();
    this.#blocked.set(blocker, others.add(claimant.key));
  }

  #freeBlocked(key: ObjectKey): void {
    const blocked = this.#blocked.get(key) ?? [];
    this.#blocked.delete(key);
    for (const freed of blocked) {
      const claimant = this.#claimants.get(freed);
      if (claimant?.blockedBy === key) claimant.blockedBy = undefined;
      this.#onFreed(freed);
    }
  }
}

/** What another process has given to the Network, as far as it says so itself. */
function givenTo(network: Network, { holds }: Claimant): readonly Range[] {
  if (!hasFinalizer(network, NETWORK_FINALIZER)) return [];
  // Not in the status yet: what the spec said when the finalizer was first seen, whatever it has become since.
  if (network.status?.cidr === undefined && holds.length > 0) return holds.map(({ range }) => range);
  return [parseRange(network.status?.cidr ?? network.spec.cidr)].filter((range) => range !== undefined);
}

function precedes(a: Claimant, b: Claimant): boolean {
  // RFC 3339 in UTC with whole seconds, as the API server writes it: the order of text is that of time.
  return a.createdAt === b.createdAt ? a.uid < b.uid : a.createdAt < b.createdAt;
}

function isSame(a: Range | undefined, b: Range | undefined): boolean {
  return a && b ? formatRange(a) === formatRange(b) : a === b;
}
