import { describe, expect, test } from '@jest/globals';
import { NETWORK_FINALIZER } from '../../../../src/networks/api/names.ts';
import { ProviderRegistry } from '../../../../src/networks/controller/provider-registry.ts';
import { MultusProvider } from '../../../../src/networks/multus/multus.ts';
import { FakeAttachments } from '../../../support/network/fake-attachments.ts';
import { newNetwork } from '../networks.ts';

const multus = new MultusProvider(new FakeAttachments());
const { signal } = new AbortController();
const finalizers = [NETWORK_FINALIZER];

describe('a Network uses', () => {
  // biome-ignore format: a line for each case
  test.each([
    ['the provider that it names', newNetwork({ provider: 'multus' }), 'neutron', 'multus'],
    ['the default if it names none', newNetwork(), 'neutron', 'neutron'],
    ['the provider that created its network', newNetwork({ finalizers, status: { provider: 'multus' } }), 'neutron', 'multus'],
    ['the default if it has no real network', newNetwork({ status: { provider: 'neutron' } }), 'multus', 'multus'],
  ])('%s', (_, network, defaultName, expected) => {
    expect(new ProviderRegistry(defaultName, [multus]).of(network).name).toBe(expected);
  });
});

test('an unconfigured provider refuses a Network, creates nothing, and blocks its deletion', async () => {
  const provider = new ProviderRegistry('neutron', [multus]).of(newNetwork());
  const message = 'provider neutron is not configured in this operator: use one of multus';
  expect(provider.validate(newNetwork())).toEqual({ reason: 'ProviderUnavailable', message });
  expect(await provider.remove(newNetwork(), { retain: false }, signal)).toMatchObject({ kind: 'blocked' });
});
