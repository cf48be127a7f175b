import { keyOf, type ObjectKey } from '../kube/object.ts';
import { Claims } from './claims.ts';
import { specProblem } from './plan.ts';
import type { ProviderRegistry } from './provider-registry.ts';
import type { Provider, Refusal } from './providers/provider.ts';
import { type Shape, shapeOf } from './shape.ts';
import type { Network } from './types.ts';

/** Decides whether a Network's spec is accepted: valid in itself, possible for its provider, and nobody else's range. */
export class Acceptance {
  readonly #providers: ProviderRegistry;
  readonly #onFreed: (key: ObjectKey) => void;
  /** By provider: each has addresses of its own. */
  readonly #claims = new Map<string, Claims>();

  /** `onFreed` is told each refused Network that should try again. */
  constructor(providers: ProviderRegistry, onFreed: (key: ObjectKey) => void) {
    this.#providers = providers;
    this.#onFreed = onFreed;
  }

  /** Takes in a Network of the cache: the range of one that has not been reconciled yet counts, too. */
  observe(network: Network): void {
    const provider = this.#providers.of(network);
    const isEligible = !network.metadata.deletionTimestamp && !problemOf(network, provider);
    this.#claimsOf(provider.name).observe(network, isEligible);
  }

  /** Takes the range of its spec for the Network, or says why it cannot have it. */
  refusalOf(network: Network): Refusal | undefined {
    const provider = this.#providers.of(network);
    this.observe(network);
    const problem = problemOf(network, provider);
    if (problem) return problem;
    const blocker = this.#claimsOf(provider.name).claim(keyOf(network));
    if (!blocker) return undefined;
    const message = `${network.spec.cidr} overlaps ${blocker.cidr} of Network ${blocker.key}: write a range apart from it`;
    return { reason: 'Overlap', message };
  }

  /** The Network's real network has this shape now; other ranges that it held are free. */
  settle(network: Network, shape: Shape): void {
    this.#claimsOf(this.#providers.of(network).name).settle(keyOf(network), shape.cidr);
  }

  /** The Network is gone, and its real network with it. */
  forget(network: Network): void {
    for (const claims of this.#claims.values()) claims.forget(keyOf(network), network.metadata.uid);
  }

  #claimsOf(provider: string): Claims {
    const claims = this.#claims.get(provider) ?? new Claims(this.#onFreed);
    this.#claims.set(provider, claims);
    return claims;
  }
}

function problemOf(network: Network, provider: Provider): Refusal | undefined {
  return specProblem(shapeOf(network.spec)) ?? provider.validate(network);
}
