import { conditionOf } from '../api/conditions.ts';
import { recordedSubnet, type Subnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { Provider } from '../providers/provider.ts';

/** The state of a Network for a pod. `subnet` is that of the real network. `why` is a sentence without a full stop that names the Network. */
export type NetworkState =
  | {
      readonly kind: 'ready';
      readonly subnet?: Subnet | undefined;
      /** Whether pods may choose options of their ports. */
      readonly hasPorts?: boolean | undefined;
    }
  | { readonly kind: 'waiting'; readonly why: string }
  /** Pods can never attach to networks of its provider. */
  | { readonly kind: 'unattachable'; readonly why: string };

/** Returns the state of a Network; `network` is undefined if it does not exist. */
export function networkState(
  key: string,
  network: Network | undefined,
  providers: {
    of(network: Network): Pick<Provider, 'name' | 'attachesPods' | 'hasPorts'>;
    attaching(): readonly string[];
  },
): NetworkState {
  const waiting = (what: string): NetworkState => ({ kind: 'waiting', why: `Network ${key} ${what}` });
  if (!network) return waiting('does not exist');
  const provider = providers.of(network);
  if (!provider.attachesPods) {
    const why = `ProviderCannotAttach: Network ${key} is of provider ${provider.name}, and pods cannot attach to its networks: name a Network of provider ${providers.attaching().join(' or ')}`;
    return { kind: 'unattachable', why };
  }
  if (network.metadata.deletionTimestamp) return waiting('is being deleted');
  const ready = conditionOf(network.status?.conditions, 'Ready');
  if (ready?.status === 'True') {
    return { kind: 'ready', subnet: recordedSubnet(network), hasPorts: provider.hasPorts };
  }
  return waiting(ready ? `is not Ready (${ready.reason}: ${ready.message})` : 'is not Ready yet');
}
