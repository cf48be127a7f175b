import type { ObjectKey } from '../../kube/api/object.ts';
import { conditionOf } from '../api/conditions.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { hasFinalizer } from '../api/resources.ts';
import { recordedSubnet, type Subnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { Provider, Refusal } from '../providers.ts';

/** The configured providers, and which of them each Network uses. */
export class ProviderRegistry {
  readonly #configured = new Map<string, Provider>();
  readonly #defaultName: string;

  constructor(defaultName: string, configured: readonly Provider[] = []) {
    this.#defaultName = defaultName;
    for (const provider of configured) this.add(provider);
  }

  add(provider: Provider): void {
    this.#configured.set(provider.name, provider);
  }

  all(): readonly Provider[] {
    return [...this.#configured.values()];
  }

  /**
   * The provider in the spec; else the one that created the network, even if the default changed; else the default.
   */
  of(network: Network): Provider {
    const realisedBy = hasFinalizer(network, NETWORK_FINALIZER) ? network.status?.provider : undefined;
    const name = network.spec.provider ?? realisedBy ?? this.#defaultName;
    return this.#configured.get(name) ?? unconfigured(name, [...this.#configured.keys()]);
  }

  /** The provider that has made the real network. */
  maker(network: Network | undefined): Provider | undefined {
    const { provider } = network?.status ?? {};
    return provider === undefined ? undefined : this.#configured.get(provider);
  }

  /** The state of a Network for a pod that asks for it; `network` is undefined if it does not exist. */
  stateOf(key: ObjectKey, network: Network | undefined): NetworkState {
    const waiting = (what: string): Refusal => ({ reason: 'WaitsForNetwork', why: `Network ${key} ${what}` });
    if (!network) return waiting('does not exist');
    const provider = this.of(network);
    if (!provider.attachesPods) {
      const attaching = this.all().filter(({ attachesPods }) => attachesPods);
      const why = `ProviderCannotAttach: Network ${key} has provider ${provider.name}, to which pods cannot attach: name a Network with provider ${attaching.map(({ name }) => name).join(' or ')}`;
      return { reason: 'ProviderCannotAttach', why };
    }
    if (network.metadata.deletionTimestamp) return waiting('is being deleted');
    const ready = conditionOf(network.status?.conditions, 'Ready');
    if (ready?.status === 'True') {
      return { subnet: recordedSubnet(network), hasPorts: provider.ports !== undefined };
    }
    return waiting(ready ? `is not Ready (${ready.reason}: ${ready.message})` : 'is not Ready yet');
  }
}

/** What a pod may have of a Network that is Ready. */
export interface ReadyNetwork {
  readonly subnet?: Subnet | undefined;
  /** Whether pods may choose options of their ports. */
  readonly hasPorts?: boolean;
}

/** The state of a Network for a pod: why it must wait, or can never attach, names the Network. */
export type NetworkState = ReadyNetwork | Refusal;

/** Stands for a provider that a Network names and that is not configured. */
function unconfigured(name: string, configured: readonly string[]): Provider {
  const message = `provider ${name} is not configured in this operator: use one of ${configured.join(', ')}`;
  return {
    name,
    // Unknown: pods keep their gate until the provider is configured.
    attachesPods: true,
    isRemote: false,
    validate: () => ({ reason: 'ProviderUnavailable', message }),
    ensure: async () => ({ kind: 'notReady', reason: 'ProviderUnavailable', message }),
    remove: async () => ({
      kind: 'blocked',
      message: `cannot delete the network itself: configure provider ${name} in the operator`,
    }),
  };
}
