import { beforeEach, expect, test } from '@jest/globals';
import type { Found } from '../../../../src/addons/neutron/neutron-api.ts';
import { addressUse, realised } from '../../../../src/addons/neutron/neutron-findings.ts';
import { FakeNeutron } from '../../../support/neutron/fake-neutron.ts';
import { newNetwork } from '../../networks/networks.ts';

const { signal } = new AbortController();
const TEXTS = { name: 'red/blue', description: '' };
const FOUR = { cidr: '10.0.0.0/29', gateway: '10.0.0.1' };
const SIX = { cidr: 'fd00::/125', gateway: 'fd00::1' };

let neutron: FakeNeutron;
let networkId: string;

beforeEach(async () => {
  neutron = new FakeNeutron();
  networkId = (await neutron.api.createNetwork(TEXTS, signal)).id;
});

async function addSubnet({ cidr, gateway }: typeof FOUR): Promise<string> {
  const subnet = { ...TEXTS, network_id: networkId, cidr, gateway_ip: gateway };
  return (await neutron.api.createSubnet({ ...subnet, ip_version: cidr.includes(':') ? 6 : 4 }, signal)).id;
}

function found(): Found {
  const [network] = [...neutron.networks.values()];
  if (!network) throw new Error('expected a network');
  return { network, subnets: [...neutron.subnets.values()], ports: [...neutron.ports.values()] };
}

test('of two families, the one with fewer free addresses counts', async () => {
  const [four, six] = [await addSubnet(FOUR), await addSubnet(SIX)];
  expect(addressUse([found()])).toEqual({ allocated: 0, total: 5 });
  neutron.addPort(networkId, { addresses: [{ subnetId: four, address: '10.0.0.2' }] });
  expect(addressUse([found()])).toEqual({ allocated: 1, total: 5 });
  const addresses = ['fd00::2', 'fd00::3', 'fd00::4'].map((address) => ({ subnetId: six, address }));
  neutron.addPort(networkId, { addresses });
  expect(addressUse([found()])).toEqual({ allocated: 3, total: 6 });
});

test('pods find as many addresses as the smaller range has', async () => {
  await addSubnet(FOUR);
  await addSubnet({ ...SIX, cidr: 'fd00::/64' });
  const shape = { ...FOUR, secondary: { ...SIX, cidr: 'fd00::/64' } };
  expect(realised(newNetwork(), found(), shape, [])).toMatchObject({ capacity: 5 });
});
