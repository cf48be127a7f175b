import { keyOf, type ObjectKey } from '../kube/object.ts';
import { parseRange } from './cidr.ts';
import { Claims } from './claims.ts';
import { type ClusterRanges, overlapText } from './cluster-ranges.ts';
import { specProblem } from './plan.ts';
import type { ProviderRegistry } from './provider-registry.ts';
import type { Provider, Refusal } from './providers/provider.ts';
import { policyProblem, type RangePolicy } from './range-policy.ts';
import { type Shape, shapeOf } from './shape.ts';
import type { Network } from './types.ts';

/** What the ranges of Networks are held against, other Networks apart. */
export interface RangeRules {
  readonly policy: RangePolicy;
  readonly cluster: ClusterRanges;
}

/** Decides whether a Network's spec is accepted: valid, possible for its provider, allowed, and a range that is free. */
export class Acceptance {
  readonly #providers: ProviderRegistry;
  readonly #onFreed: (key: ObjectKey) => void;
  readonly #rules: RangeRules | undefined;
  /** By provider: each has addresses of its own. */
  readonly #claims = new Map<string, Claims>();

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
  refusalOf(network: Network): Refusal | undefined {
    const provider = this.#providers.of(network);
    this.observe(network);
    const problem = problemOf(network, provider);
    if (problem) return problem;
    const notAllowed = this.#isHeld(network) ? undefined : this.#policyProblem(network);
    if (notAllowed !== undefined) return { reason: 'RangeNotAllowed', message: notAllowed };
    const { cidr } = network.spec;
    const blocker = this.#claimsOf(provider).claim(keyOf(network));
    if (!blocker) return undefined;
    if ('of' in blocker) {
      const message = `${overlapText(cidr, blocker)}: write a range apart from it`;
      return { reason: 'RangeTaken', message };
    }
    const message = `${cidr} overlaps ${blocker.cidr} of Network ${blocker.key}: write a range apart from it`;
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
  settle(network: Network, shape: Shape): void {
    this.#claimsOf(this.#providers.of(network)).settle(keyOf(network), shape.cidr);
  }

  /** The Network is gone, and its real network with it. */
  forget(network: Network): void {
    for (const claims of this.#claims.values()) claims.forget(keyOf(network), network.metadata.uid);
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

  #claimsOf({ name, isRemote }: Provider): Claims {
    const known = this.#claims.get(name);
    if (known) return known;
    const claims = new Claims(this.#onFreed, isRemote ? undefined : this.#rules?.cluster);
    this.#claims.set(name, claims);
    return claims;
  }
}

function problemOf(network: Network, provider: Provider): Refusal | undefined {
  return specProblem(shapeOf(network.spec)) ?? provider.validate(network);
}
