import { beforeEach, expect, test } from '@jest/globals';
import { conditionOf } from '../../../../src/networks/api/conditions.ts';
import { NetworkModel } from '../../../support/network/network-model.ts';

const SPEC = { provider: 'neutron', cidr: '10.20.0.0/24', gateway: '10.20.0.1' } as const;
let model: NetworkModel;

beforeEach(() => {
  model = new NetworkModel();
});

/** Reconciles until nothing more is written. Returns what was written in Neutron. */
async function settled(): Promise<readonly string[]> {
  const { calls } = model.neutron;
  calls.length = 0;
  for (let round = 0; round < 3; round++) await model.reconcile();
  return calls.splice(0).filter((call) => !call.startsWith('list'));
}

async function created(spec: object = {}): Promise<void> {
  model.create({ ...SPEC, ...spec });
  expect((await settled()).slice(0, 4)).toEqual(['create network', 'PUT tag', 'PUT tag', 'create subnet']);
  model.events.length = 0;
}

const ready = () => conditionOf(model.network?.status?.conditions, 'Ready');

test('a second range comes with its network, changes its gateway, moves and goes', async () => {
  const range = (cidr: string, gateway: string) => ({ secondary: { cidr, gateway } });
  await created(range('fd00:20::/64', 'fd00:20::1'));
  const first = '10.20.0.0/24 10.20.0.1';
  for (const [change, writes, shape] of [
    [range('fd00:20::/64', 'fd00:20::9'), ['update subnet'], `${first} and fd00:20::/64 fd00:20::9`],
    [
      range('fd00:21::/64', 'fd00:21::1'),
      ['delete subnet', 'create subnet'],
      `${first} and fd00:21::/64 fd00:21::1`,
    ],
    [{ secondary: null }, ['delete subnet'], first],
  ] as const) {
    model.edit(change as never);
    expect(await settled()).toEqual(writes);
    expect(model.real()).toEqual([shape]);
  }
  expect(model.events.map((event) => event.split(':')[0])).toEqual(['Updated', 'Updated', 'Updated']);
});

test('ports hold their subnet and their network, and are named', async () => {
  await created();
  const [id = ''] = model.neutron.networks.keys();
  const port = model.neutron.addPort(id, { name: 'vm-1', owner: 'compute:nova' });
  model.edit({ cidr: '10.21.0.0/24', gateway: '10.21.0.1' });
  expect(await settled()).toEqual([]);
  const named = `${port.id} (vm-1, compute:nova)`;
  expect(ready()).toMatchObject({
    ...{
      status: 'False',
      reason: 'InUse',
      message: `keeps 10.20.0.0/24 until these ports are gone: ${named}`,
    },
  });
  model.delete();
  await settled();
  expect(model.events.at(-1)).toBe(`Deleting: waits for the ports on its network in Neutron: ${named}`);
  expect(model.real()).toHaveLength(1);
  model.neutron.ports.clear();
  expect(await settled()).toEqual(['delete network']);
  expect([model.real(), model.network]).toEqual([[], undefined]);
});

test('what others change or take away is set right', async () => {
  await created();
  const { networks, subnets } = model.neutron;
  const spoil = <T extends { readonly revision: number | undefined }>(
    items: Map<string, T>,
    fields: Partial<T>,
  ) => {
    for (const [id, item] of items) items.set(id, { ...item, ...fields, revision: (item.revision ?? 0) + 1 });
  };
  spoil(networks, { name: 'mine', description: '' });
  expect(await settled()).toEqual(['update network']);
  spoil(subnets, { gateway: '10.20.0.9' });
  expect(await settled()).toEqual(['update subnet']);
  model.wreck();
  expect(await settled()).toEqual(['create network', 'PUT tag', 'PUT tag', 'create subnet']);
  expect(model.real()).toEqual(['10.20.0.0/24 10.20.0.1']);
  expect(model.events.map((event) => event.split(':')[0])).toEqual(['Restored', 'Restored', 'Restored']);
});
