import { multus } from './multus/index.ts';
import { neutron } from './neutron/index.ts';
import type { Provider } from './provider.ts';
import type { ProviderEntry } from './provider-setup.ts';

/** What makes Networks real. */
export const PROVIDERS = [multus, neutron] as const;

/** Every reason that a provider gives for a Network that is not Ready. */
export type ProviderReason = (typeof PROVIDERS)[number]['reasons'][number];

export type AnyProvider = Provider<ProviderReason>;

/** Indices of the cache of Networks that providers look into. */
export const NETWORK_INDEXERS: NonNullable<ProviderEntry['networkIndexers']> = Object.assign(
  {},
  ...PROVIDERS.map(({ networkIndexers }: ProviderEntry) => networkIndexers),
);
