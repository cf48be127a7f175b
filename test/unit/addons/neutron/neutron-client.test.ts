import { beforeEach, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { NeutronClient } from '../../../../src/addons/neutron/client.ts';
import { neutronCheck } from '../../../../src/addons/neutron/garbage-collector.ts';
import { NeutronProvider } from '../../../../src/addons/neutron/neutron.ts';
import { OpenStackError } from '../../../../src/addons/neutron/openstack/error.ts';
import type { NetworkRequest, OpenStackSession } from '../../../../src/addons/neutron/openstack/session.ts';
import { NEUTRON_NETWORKS } from '../../../../src/addons/neutron/resources.ts';
import { neutronMetrics } from '../../../../src/addons/neutron/setup.ts';
import { NeutronStore } from '../../../../src/addons/neutron/store.ts';
import { systemClock } from '../../../../src/kube/workqueue/clock.ts';
import { conditionOf } from '../../../../src/networks/api/conditions.ts';
import type { JsonValue } from '../../../../src/util/json.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { NetworkModel } from '../../../support/network/network-model.ts';
import { WITHOUT_PODS } from '../../../support/neutron/fake-neutron.ts';

const { signal } = new AbortController();

/** A session that answers with these bodies in order. */
function clientOf(...bodies: readonly (JsonValue | Error | undefined)[]) {
  const requests: { readonly method: string; readonly request: NetworkRequest }[] = [];
  const rest = [...bodies];
  const session: Pick<OpenStackSession, 'request'> = {
    request: async (method, request) => {
      requests.push({ method, request });
      const body = rest.shift();
      if (body instanceof Error) throw body;
      return { status: 200, header: () => undefined, body };
    },
  };
  return { client: new NeutronClient(session, { pageSize: 2 }), requests };
}

const next = (href: string) => [{ rel: 'next', href }];

const BARE = { metadata: { name: 'a', uid: 'u' }, spec: { cidr: '10.0.0.0/24', gateway: '10.0.0.1' } };

test('a range with host bits, which only a status from elsewhere has, is not sent to Neutron', async () => {
  const asked = async () => Promise.reject(new Error('Neutron was asked'));
  const provider = new NeutronProvider({
    ...{ store: { refreshed: async () => {}, known: () => [], read: asked } as never, api: asked as never },
    ...{ ...WITHOUT_PODS, clusterId: async () => 'cluster' },
  });
  const shape = { cidr: '10.0.0.5/24', gateway: '10.0.0.1' };
  await expect(provider.ensure(BARE, shape, signal)).rejects.toThrow(/canonical form, got 10\.0\.0\.5/);
});

test('the pods on a network count also before Neutron has answered', async () => {
  const away = async () => Promise.reject(new OpenStackError(503, '', 'away'));
  const api = () => ({ list: away }) as never;
  const provider = new NeutronProvider({
    ...{ ...WITHOUT_PODS, api, store: new NeutronStore({ api, clock: systemClock }) },
    ...{ clusterId: away, attachesPods: true, usageOf: () => ({ pods: ['default/web'] }) },
  });
  expect(await provider.usage(BARE, signal)).toEqual({ pods: ['default/web'] });
});

test('whether Neutron answers is told by the leader, until its term ends', async () => {
  const registry = new Registry();
  const [metrics, store] = [neutronMetrics(registry), { refreshed: async () => {}, owned: () => [] }];
  const check = neutronCheck({ store, metrics, clusterId: async () => '', log: capturedLog().log } as never);
  const term = new AbortController();
  const told = async () => /^envoy_initializer_neutron_available .*$/m.exec(await registry.metrics())?.[0];
  await check(term.signal);
  expect(await told()).toBe('envoy_initializer_neutron_available 1');
  term.abort();
  expect(await told()).toBeUndefined();
});

test('a list of Neutron is read by page after the last ID, and not by link', async () => {
  const { client, requests } = clientOf(
    { networks: [{ id: 'a' }, { id: 'b' }], networks_links: next('https://elsewhere.test/?marker=x') },
    { networks: [{ id: 'c' }], networks_links: [{ rel: 'previous', href: '' }] },
  );
  const networks = await client.list(NEUTRON_NETWORKS, { description: 'd' }, signal);
  expect(networks.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  expect(
    requests.map(({ request }) => [request.path, request.query?.description, request.query?.marker]),
  ).toEqual([
    ['/networks', 'd', undefined],
    ['/networks', 'd', 'b'],
  ]);
});

test.each<[string, readonly (JsonValue | undefined)[]]>([
  [
    'repeats its page',
    [
      { networks: [{ id: 'a' }], networks_links: next('') },
      { networks: [{ id: 'a' }], networks_links: next('') },
    ],
  ],
  ['has an empty page and a next one', [{ networks: [], networks_links: next('') }]],
])('a list of Neutron that %s is refused', async (_, bodies) => {
  await expect(clientOf(...bodies).client.list(NEUTRON_NETWORKS, {}, signal)).rejects.toThrow('a last page');
});

test.each<[JsonValue | undefined]>([
  [undefined],
  ['networks'],
  [{ networks: {} }],
  [{ networks: [7] }],
  [{ networks: [{ id: '' }] }],
])('a list of Neutron with %j is refused, and does not count as empty', async (body) => {
  await expect(clientOf(body).client.list(NEUTRON_NETWORKS, {}, signal)).rejects.toThrow(/expected|sent/);
});

const network = {
  ...{ id: 'a', name: '', description: '', mtu: 1500, tags: [], createdAt: '', subnetIds: [] },
  revision: 7,
};

test('a write to Neutron is tied to the revision that was read', async () => {
  const { client, requests } = clientOf({}, {});
  await client.update(NEUTRON_NETWORKS, network, { mtu: 1400 }, signal);
  await client.delete(NEUTRON_NETWORKS, network, signal);
  expect(requests.map(({ method, request }) => [method, request.headers])).toEqual([
    ['PUT', { 'if-match': 'revision_number=7' }],
    ['DELETE', { 'if-match': 'revision_number=7' }],
  ]);
});

test('a write to Neutron is not tied if the server has no revisions', async () => {
  const { client, requests } = clientOf({});
  await client.delete(NEUTRON_NETWORKS, { ...network, revision: undefined }, signal);
  expect(requests[0]?.request.headers).toEqual({});
});

test('a write that deletes from Neutron ignores a 404, and no other error', async () => {
  const gone = new OpenStackError(404, 'NetworkNotFound', 'gone');
  const refused = new OpenStackError(409, 'NetworkInUse', 'in use');
  const { client } = clientOf(gone, refused);
  await client.delete(NEUTRON_NETWORKS, network, signal);
  await expect(client.delete(NEUTRON_NETWORKS, network, signal)).rejects.toBe(refused);
});

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

test('a second range in Neutron comes with its network, changes its gateway, moves and goes', async () => {
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

test('ports in Neutron hold their subnet and their network, and are named', async () => {
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
      message: `10.20.0.0/24 stays until these ports are gone: ${named}`,
    },
  });
  model.delete();
  await settled();
  expect(model.events.at(-1)).toBe(`Deleting: waiting for ports on the network in Neutron: ${named}`);
  expect(model.real()).toHaveLength(1);
  model.neutron.ports.clear();
  expect(await settled()).toEqual(['delete network']);
  expect([model.real(), model.network]).toEqual([[], undefined]);
});

test('a gateway that a router has stays until Neutron lets it change, and the status names the port', async () => {
  await created();
  const { neutron } = model;
  const refusal = new OpenStackError(409, 'GatewayIpInUse', '10.20.0.1 is in use by port b');
  neutron.through = async (call) =>
    neutron.calls.at(-1) === 'update subnet' ? Promise.reject(refusal) : call();
  model.edit({ gateway: '10.20.0.9' });
  await settled();
  expect(ready()).toMatchObject({ status: 'False', reason: 'InUse', message: refusal.message });
});

test('what others change or take away in Neutron is set right', async () => {
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
