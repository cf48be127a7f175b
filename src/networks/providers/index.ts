import { neutron } from '../../addons/neutron/index.ts';
import { multus } from '../multus/index.ts';
import type { Provider } from './provider.ts';
import type { ProviderEntry } from './provider-setup.ts';

/** All providers of Networks. */
export const PROVIDERS = [multus, neutron] as const;

/** Each reason of a provider for a Network that is not Ready. */
export type ProviderReason = (typeof PROVIDERS)[number]['reasons'][number];

export type AnyProvider = Provider<ProviderReason>;

/** Indexers of the cache of Networks for all providers. */
export const NETWORK_INDEXERS: NonNullable<ProviderEntry['networkIndexers']> = Object.assign(
  {},
  ...PROVIDERS.map(({ networkIndexers }: ProviderEntry) => networkIndexers),
);
