import { keyOf, type ObjectKey, splitKey } from '../../kube/api/object.ts';
import { type Subnet, subnetOf } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { Provider, SpecError } from '../providers.ts';
import { bitsOf, formatRange, holds, type Range } from '../ranges/cidr.ts';
import { type ClusterRanges, overlapText } from '../ranges/cluster-ranges.ts';
import { cidrsOf, parsed, RangeReservations } from '../ranges/range-reservations.ts';
import { specProblem } from './condition-plan.ts';
import type { ProviderRegistry } from './provider-registry.ts';

/** Rules for the ranges of Networks, in addition to other Networks. */
export interface RangeRules {
  readonly policy: RangePolicy;
  readonly cluster: ClusterRanges;
}

/** Decides whether to accept a Network's spec: valid, possible for its provider, allowed, and with a free range. */
export class SpecAcceptance {
  readonly #providers: ProviderRegistry;
  readonly #onFreed: (key: ObjectKey) => void;
  readonly #rules: RangeRules | undefined;
  /** By provider, because providers have separate address spaces. */
  readonly #reservations = new Map<string, RangeReservations>();

  /** Calls `onFreed` for each Network to reconcile again. Without rules, only overlaps of Networks are refused. */
  constructor(providers: ProviderRegistry, onFreed: (key: ObjectKey) => void, rules?: RangeRules) {
    this.#providers = providers;
    this.#onFreed = onFreed;
    this.#rules = rules;
  }

  /** Records a Network of the cache, because the range of a Network counts before its first reconcile. */
  observe(network: Network): void {
    const provider = this.#providers.of(network);
    const isEligible = !problemOf(network, provider) && this.#policyProblem(network) === undefined;
    this.#reservationsOf(provider).observe(network, isEligible);
  }

  /** Reserves the range of the spec for the Network, or returns why this is not possible. */
  specErrorOf(network: Network): SpecError | undefined {
    const provider = this.#providers.of(network);
    this.observe(network);
    const problem = problemOf(network, provider);
    if (problem) return problem;
    const reservations = this.#reservationsOf(provider);
    const notAllowed = reservations.isHeld(network) ? undefined : this.#policyProblem(network);
    if (notAllowed !== undefined) return { reason: 'RangeNotAllowed', message: notAllowed };
    const blocked = reservations.reserve(keyOf(network));
    if (!blocked) return undefined;
    const { by, cidr } = blocked;
    if ('of' in by) {
      const message = `${overlapText(cidr, by)}: use a range that does not overlap it`;
      return { reason: 'RangeTaken', message };
    }
    const message = `${cidr} overlaps ${by.cidr} of ${nameFor(network, by.key)}: use a range that does not overlap it`;
    return { reason: 'Overlap', message };
  }

  /** Why another range would be better for an accepted Network: a sentence without a full stop. */
  warningFor(network: Network): string | undefined {
    const notAllowed = this.#policyProblem(network);
    if (notAllowed !== undefined) return notAllowed;
    for (const range of parsed(cidrsOf(subnetOf(network.spec)))) {
      const met = this.#rules?.cluster.met(range);
      if (!met) continue;
      return `${overlapText(formatRange(range), met)}: pods on the Network cannot reach addresses that are in both ranges`;
    }
    return undefined;
  }

  settle(network: Network, ...real: readonly (Subnet | undefined)[]): void {
    this.#reservationsOf(this.#providers.of(network)).settle(keyOf(network), ...real);
  }

  forget(network: Network): void {
    for (const reservations of this.#reservations.values())
      reservations.forget(keyOf(network), network.metadata.uid);
  }

  /** Applies the policy only to networks on nodes. Remote providers have their own rules. */
  #policyProblem(network: Network): string | undefined {
    const { policy } = this.#rules ?? {};
    if (!policy || this.#providers.of(network).isRemote) return undefined;
    return parsed(cidrsOf(subnetOf(network.spec)))
      .map((range) => policyProblem(range, policy))
      .find((problem) => problem !== undefined);
  }

  #reservationsOf({ name, isRemote }: Provider): RangeReservations {
    const known = this.#reservations.get(name);
    if (known) return known;
    const reservations = new RangeReservations(this.#onFreed, isRemote ? undefined : this.#rules?.cluster);
    this.#reservations.set(name, reservations);
    return reservations;
  }
}

function problemOf(network: Network, provider: Provider): SpecError | undefined {
  return specProblem(subnetOf(network.spec)) ?? provider.validate?.(network);
}

/** Names the other Network in the status of this one. Users must not learn names of other namespaces. */
function nameFor({ metadata: { namespace } }: Network, other: ObjectKey): string {
  return splitKey(other).namespace === namespace ? `Network ${other}` : 'a Network in another namespace';
}

export interface RangePolicy {
  /** A Network's range must be inside one of these. */
  readonly allowed: readonly Range[];
  /** The shortest prefix lengths, which limit the size of a Network. */
  readonly largest: { readonly ipv4: number; readonly ipv6: number };
}

/** Why the policy does not allow the range, and what to write instead; undefined if it does. */
export function policyProblem(range: Range, { allowed, largest }: RangePolicy): string | undefined {
  const text = formatRange(range);
  const shortest = bitsOf(range.address) === 32 ? largest.ipv4 : largest.ipv6;
  if (!allowed.some((one) => holds(one, range))) {
    const list = allowed.map(formatRange).join(', ');
    return `${text} is not inside ${list} (--network-ranges): use a range inside one of these`;
  }
  if (range.prefixLength < shortest) {
    return `${text} is larger than --network-largest allows: use a /${shortest} or smaller`;
  }
  return undefined;
}
