import { keyOf, type ObjectKey, splitKey } from '../../kube/api/object.ts';
import { type Subnet, subnetOf } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import { specProblem } from '../controller/condition-plan.ts';
import type { ProviderRegistry } from '../controller/provider-registry.ts';
import type { Provider, SpecError } from '../providers/provider.ts';
import { parseRange } from './cidr.ts';
import { type ClusterRanges, overlapText } from './cluster-ranges.ts';
import { RangeClaims } from './range-claims.ts';
import { policyProblem, type RangePolicy } from './range-policy.ts';

/** What the ranges of Networks are held against, other Networks apart. */
export interface RangeRules {
  readonly policy: RangePolicy;
  readonly cluster: ClusterRanges;
  /** Told once of each Network that is refused for another: its status does not name one of another namespace. */
  readonly onOverlap?: (key: ObjectKey, other: ObjectKey) => void;
}

/** Decides whether a Network's spec is accepted: valid, possible for its provider, allowed, and a range that is free. */
export class RangeAllocator {
  readonly #providers: ProviderRegistry;
  readonly #onFreed: (key: ObjectKey) => void;
  readonly #rules: RangeRules | undefined;
  /** By provider: each has addresses of its own. */
  readonly #claims = new Map<string, RangeClaims>();
  /** Which Network each was last told to be refused for. */
  readonly #overlapping = new Map<ObjectKey, ObjectKey>();

  /** `onFreed` is told each Network that should be judged again. Without rules no range is refused but for a Network's. */
  constructor(providers: ProviderRegistry, onFreed: (key: ObjectKey) => void, rules?: RangeRules) {
    this.#providers = providers;
    this.#onFreed = onFreed;
    this.#rules = rules;
  }

  /** Takes in a Network of the cache: the range of one that has not been reconciled yet counts, too. */
  observe(network: Network): void {
    const provider = this.#providers.of(network);
    const isEligible = !problemOf(network, provider) && this.#policyProblem(network) === undefined;
    this.#claimsOf(provider).observe(network, isEligible);
  }

  /** Takes the range of its spec for the Network, or says why it cannot have it. */
  specErrorOf(network: Network): SpecError | undefined {
    const provider = this.#providers.of(network);
    this.observe(network);
    const problem = problemOf(network, provider);
    if (problem) return problem;
    const notAllowed = this.#isHeld(network) ? undefined : this.#policyProblem(network);
    if (notAllowed !== undefined) return { reason: 'RangeNotAllowed', message: notAllowed };
    const { cidr } = network.spec;
    const blocker = this.#claimsOf(provider).claim(keyOf(network));
    this.#tellOverlap(keyOf(network), blocker && 'key' in blocker ? blocker.key : undefined);
    if (!blocker) return undefined;
    if ('of' in blocker) {
      const message = `${overlapText(cidr, blocker)}: write a range apart from it`;
      return { reason: 'RangeTaken', message };
    }
    const message = `${cidr} overlaps ${blocker.cidr} of ${nameFor(network, blocker.key)}: write a range apart from it`;
    return { reason: 'Overlap', message };
  }

  /** Why a Network that is accepted would better have another range: a sentence without a full stop. */
  warningFor(network: Network): string | undefined {
    const notAllowed = this.#policyProblem(network);
    if (notAllowed !== undefined) return notAllowed;
    const { cidr } = network.spec;
    const range = parseRange(cidr);
    const met = range && this.#rules?.cluster.met(range);
    return met && `${overlapText(cidr, met)}: pods on the Network cannot reach what has an address of both`;
  }

  /** The Network's real network has this shape now; other ranges that it held are free. */
  settle(network: Network, shape: Subnet): void {
    this.#claimsOf(this.#providers.of(network)).settle(keyOf(network), shape.cidr);
  }

  /** The Network is gone, and its real network with it. */
  forget(network: Network): void {
    this.#overlapping.delete(keyOf(network));
    for (const claims of this.#claims.values()) claims.forget(keyOf(network), network.metadata.uid);
  }

  #tellOverlap(key: ObjectKey, other: ObjectKey | undefined): void {
    if (this.#overlapping.get(key) === other) return;
    this.#overlapping.delete(key);
    if (other === undefined) return;
    this.#overlapping.set(key, other);
    this.#rules?.onOverlap?.(key, other);
  }

  /** Of a network that is on nodes: one that is made elsewhere has what ranges that allows. */
  #policyProblem(network: Network): string | undefined {
    const range = parseRange(network.spec.cidr);
    if (!range || !this.#rules || this.#providers.of(network).isRemote) return undefined;
    return policyProblem(range, this.#rules.policy);
  }

  #isHeld(network: Network): boolean {
    const range = parseRange(network.spec.cidr);
    const claims = this.#claimsOf(this.#providers.of(network));
    return range !== undefined && claims.isHeld(keyOf(network), range);
  }

  #claimsOf({ name, isRemote }: Provider): RangeClaims {
    const known = this.#claims.get(name);
    if (known) return known;
    const claims = new RangeClaims(this.#onFreed, isRemote ? undefined : this.#rules?.cluster);
    this.#claims.set(name, claims);
    return claims;
  }
}

function problemOf(network: Network, provider: Provider): SpecError | undefined {
  return specProblem(subnetOf(network.spec)) ?? provider.validate(network);
}

/** The other Network, to whoever reads the status of this one: what other namespaces have is not theirs to know. */
function nameFor({ metadata: { namespace } }: Network, other: ObjectKey): string {
  return splitKey(other).namespace === namespace ? `Network ${other}` : 'a Network of another namespace';
}
