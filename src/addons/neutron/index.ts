import type { ProviderEntry } from '../../networks/providers/provider-setup.ts';
import { NEUTRON_REASONS, type NeutronReason } from './neutron-findings.ts';
import { setUpNeutron } from './setup.ts';

export const neutron = {
  name: 'neutron',
  reasons: NEUTRON_REASONS,
  setUp: setUpNeutron,
} as const satisfies ProviderEntry<NeutronReason>;
