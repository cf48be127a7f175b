import type { ProviderContext, ProviderEntry } from '../provider-setup.ts';
import { NEUTRON_REASONS, type NeutronReason } from './neutron-findings.ts';
import { neutronDuty } from './setup.ts';

export const neutron = {
  name: 'neutron',
  reasons: NEUTRON_REASONS,
  setUp: (context: ProviderContext) =>
    neutronDuty({
      ...context,
      known: (key) => context.networks.get(key),
      onChange: context.enqueueAll,
    }),
} as const satisfies ProviderEntry<NeutronReason>;
