import { conditionOf } from '../api/conditions.ts';
import type { Network } from '../api/types.ts';

/** What a Network is to a pod that asks for it. `why` is a sentence without a full stop that names the Network. */
export type NetworkState =
  | { readonly kind: 'ready' }
  | { readonly kind: 'waiting'; readonly why: string }
  /** Its provider makes networks that pods cannot be attached to, ever. */
  | { readonly kind: 'unattachable'; readonly why: string };

/** Judges the Network of the key, as it is known; undefined: there is none. */
export function networkState(
  key: string,
  network: Network | undefined,
  providers: {
    of(network: Network): { readonly name: string; readonly attachesPods: boolean };
    attaching(): readonly string[];
  },
): NetworkState {
  const waiting = (what: string): NetworkState => ({ kind: 'waiting', why: `Network ${key} ${what}` });
  if (!network) return waiting('does not exist');
  const provider = providers.of(network);
  if (!provider.attachesPods) {
    const why = `ProviderCannotAttach: Network ${key} is of provider ${provider.name}, whose networks pods cannot be attached to: name a Network of provider ${providers.attaching().join(' or ')}`;
    return { kind: 'unattachable', why };
  }
  if (network.metadata.deletionTimestamp) return waiting('is being deleted');
  const ready = conditionOf(network.status?.conditions, 'Ready');
  if (ready?.status === 'True') return { kind: 'ready' };
  return waiting(ready ? `is not Ready (${ready.reason}: ${ready.message})` : 'is not Ready yet');
}
