import { beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { OpenStackError } from '../../../../../src/addons/neutron/openstack/error.ts';
import { PortGarbageCollector } from '../../../../../src/addons/neutron/pods/port-garbage-collector.ts';
import { NeutronPodPorts } from '../../../../../src/addons/neutron/pods/ports.ts';
import {
  NEUTRON_NETWORKS,
  NEUTRON_SUBNETS,
  type NeutronNetwork,
  type NeutronPort,
} from '../../../../../src/addons/neutron/resources.ts';
import { ApiError } from '../../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../../src/kube/api/object.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';
import { FakeNeutron } from '../../../../support/neutron/fake-neutron.ts';

const { signal } = new AbortController();
const POD: KubeObject = { metadata: { namespace: 'red', name: 'p', uid: 'pod-uid' } };
const NETWORK = {
  metadata: { namespace: 'red', name: 'blue', uid: 'network-uid' },
  spec: { cidr: '10.40.0.0/24', gateway: '10.40.0.1' },
};
const CIDR = { name: '', description: '', cidr: '10.40.0.0/24', gateway_ip: '10.40.0.1' };

let neutron: FakeNeutron;
let network: NeutronNetwork;
let networkId: string;
let learned: string[];
let refused: string[];
let ports: NeutronPodPorts;
let away: Error | undefined;

beforeEach(async () => {
  neutron = new FakeNeutron();
  network = await neutron.api.create(NEUTRON_NETWORKS, { name: 'red/blue', description: '' }, signal);
  networkId = network.id;
  await neutron.api.create(NEUTRON_SUBNETS, { ...CIDR, network_id: networkId, ip_version: 4 }, signal);
  neutron.calls.length = 0;
  [learned, refused, away] = [[], [], undefined];
  ports = new NeutronPodPorts({
    api: () => neutron.api,
    store: {
      refreshed: async () => {
        if (away) throw away;
      },
      known: () =>
        [...neutron.networks.values()].map((network) => ({
          ...{ network, ports: [] },
          subnets: [...neutron.subnets.values()],
        })),
    },
    onPort: ({ id }) => learned.push(id),
    pods: { lister: { get: () => POD } },
    onRefusal: (key) => refused.push(key),
  });
});

const attach = (asked: JsonObject = { name: 'blue' }) => ports.attach(POD, NETWORK, asked, signal);
const fails = (status: number, type: string, message = type) => {
  neutron.through = async (call) => {
    if (neutron.calls.at(-1) === 'create port') throw new OpenStackError(status, type, message);
    return call();
  };
};
const heals = () => {
  neutron.through = async (call) => call();
};

test('a pod gets one port in Neutron, with two requests, and the same one again', async () => {
  const first = await attach();
  expect(neutron.calls).toEqual(['list ports', 'create port']);
  const [port] = [...neutron.ports.values()] as [NeutronPort];
  expect(port).toMatchObject({
    ...{ networkId, device: 'pod-uid', owner: 'envoy-initializer:pod', name: 'red/p' },
    description: 'Kubernetes Pod red/p',
  });
  expect(first).toEqual({
    options: { ips: ['10.40.0.2/24'], mac: port.mac, 'cni-args': { OvnPort: port.id } },
  });
  expect(await attach()).toEqual(first);
  expect(neutron.ports.size).toBe(1);
  expect(learned).toEqual([port.id, port.id]);
});

test('a request for a port without an answer leaves no second port', async () => {
  neutron.through = async (call) => {
    const done = call();
    if (neutron.calls.at(-1) === 'create port') throw new OpenStackError(503, '', 'gone');
    return done;
  };
  expect(await attach()).toMatchObject({ reason: 'ProviderUnavailable', retryAfterMs: 10_000 });
  heals();
  expect(await attach()).toHaveProperty('options');
  expect(neutron.ports.size).toBe(1);
});

test('the port in the annotation is the operator’s, and other arguments of CNI stay', async () => {
  const asked = { name: 'blue', 'cni-args': { OvnPort: 'of-another-pod', other: 1 } };
  const result = await attach(asked);
  const [id] = [...neutron.ports.keys()];
  expect(result).toMatchObject({ options: { 'cni-args': { OvnPort: id, other: 1 } } });
});

test('a port of a user is not on another network, and leaves no other options beside it', async () => {
  const elsewhere = await neutron.api.create(NEUTRON_NETWORKS, { name: '', description: '' }, signal);
  const { id: port } = neutron.addPort(elsewhere.id);
  expect(await attach({ name: 'blue', port })).toMatchObject({
    why: `port ${port} is not on this network in Neutron: name another`,
  });
  const both = await attach({ name: 'blue', port, ips: ['10.40.0.9/24'] });
  expect(both).toMatchObject({ reason: 'InvalidNetworkAnnotation' });
});

test('a port of a user is not one that a device uses, nor one that only names the UID of the pod', async () => {
  const { id: used } = neutron.addPort(networkId, { device: 'server-1', owner: 'compute:nova' });
  expect(await attach({ name: 'blue', port: used })).toMatchObject({
    why: `port ${used} is in use by compute:nova server-1`,
  });
  const { id: forged } = neutron.addPort(networkId, { device: 'pod-uid', owner: 'compute:nova' });
  expect(await attach()).not.toMatchObject({ options: { 'cni-args': { OvnPort: forged } } });
});

test.each([
  [409, 'IpAddressGenerationFailure', 'AddressesExhausted'],
  [409, 'IpAddressAlreadyAllocated', 'WaitsForNetwork'],
  [400, 'InvalidIpForSubnet', 'PortRefused'],
  [404, 'SecurityGroupNotFound', 'PortRefused'],
])('the refusal %i %s of a port is %s, and of this pod alone', async (status, type, reason) => {
  fails(status, type);
  expect(await attach()).toMatchObject({ reason, retryAfterMs: 10_000 });
  expect(ports.refusalOn(NETWORK)).toBeUndefined();
});

test.each([
  [409, 'OverQuota'],
  [403, 'PolicyNotAuthorized'],
])('the refusal %i %s of a port is also of the Network, until a pod gets its port', async (status, type) => {
  fails(status, type, 'no more');
  for (const _ of [1, 2]) expect(await attach()).toMatchObject({ reason: 'PortRefused', why: 'no more' });
  expect(ports.refusalOn(NETWORK)).toBe('no more');
  expect(refused).toEqual(['red/blue']);
  heals();
  await attach();
  expect(ports.refusalOn(NETWORK)).toBeUndefined();
  expect(refused).toEqual(['red/blue', 'red/blue']);
});

test('a pod causes no request while Neutron is away', async () => {
  away = new OpenStackError(503, '', 'Neutron is away');
  expect(await attach()).toEqual({
    ...{ reason: 'ProviderUnavailable', why: 'Neutron is away', retryAfterMs: 10_000 },
  });
  expect(neutron.calls).toEqual([]);
});

const log = pino({ level: 'silent' });
const OURS = { owner: 'envoy-initializer:pod', device: 'uid-p', description: 'Kubernetes Pod red/p' };
/** Pods in the API server, by key. */
let live: Map<string, object>;
let queued: string[];
let remover: PortGarbageCollector;
let owners: string[];

beforeEach(() => {
  [live, queued, owners] = [new Map(), [], ['cluster']];
  remover = new PortGarbageCollector({
    api: () => neutron.api,
    log,
    client: {
      get: async (resource, { namespace, name }) => {
        const found = live.get(`${namespace}/${name}`);
        if (found) return resource.decode(found);
        throw new ApiError({ status: 404, reason: 'NotFound', message: 'gone', causes: [] });
      },
    },
    store: {
      owned: () =>
        owners.map((cluster) => ({
          owner: { key: 'red/blue', uid: 'u', cluster },
          found: { network, subnets: [], ports: [...neutron.ports.values()] },
        })),
    },
    clusterId: async () => 'cluster',
    isLive: (key, uid) => {
      const pod = live.get(key);
      return pod !== undefined && JSON.stringify(pod).includes(`"uid":"${uid}"`);
    },
    enqueue: (key) => queued.push(key),
  });
});

const podWith = (uid: string, multus = '', phase = 'Running') => ({
  metadata: { namespace: 'red', name: 'p', uid, annotations: { 'k8s.v1.cni.cncf.io/networks': multus } },
  status: { phase },
});
const addOurs = (fields: Partial<NeutronPort> = {}) => neutron.addPort(networkId, { ...OURS, ...fields });
const left = () => [...neutron.ports.keys()];

test.each([
  ['finished', () => podWith('uid-p', '', 'Succeeded')],
  ['replaced by one of the same name', () => podWith('uid-q')],
])('a port in Neutron goes when its pod is %s', async (_, pod) => {
  live.set('red/p', pod());
  remover.learn(addOurs());
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual([]);
});

test('a sweep finds ports in Neutron without a pod, and never those of others', async () => {
  const foreign = [
    neutron.addPort(networkId, { owner: 'compute:nova', device: 'vm', description: OURS.description }),
    addOurs({ description: 'edited by a user' }),
    addOurs({ device: '' }),
  ].map(({ id }) => id);
  addOurs();
  await remover.sweep(signal);
  expect(queued).toEqual(['red/p']);
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual(foreign);
});

test('a sweep of ports leaves networks of other clusters alone', async () => {
  owners = ['another'];
  addOurs();
  await remover.sweep(signal);
  expect(queued).toEqual([]);
});

test("the port in a pod's annotation stays of two, and both while it has none", async () => {
  const [first, second] = [addOurs().id, addOurs().id];
  live.set('red/p', podWith('uid-p'));
  await remover.sweep(signal);
  expect(queued).toEqual(['red/p']);
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual([first, second]);
  live.set('red/p', podWith('uid-p', `[{"name":"blue","cni-args":{"OvnPort":"${second}"}}]`));
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual([second]);
});

test('the port of a user is released, and not deleted', async () => {
  const { id } = addOurs({ owner: 'envoy-initializer:user-port' });
  await remover.sweep(signal);
  // OVN has reported on it since.
  neutron.ports.set(id, { ...addOurs({ owner: 'envoy-initializer:user-port' }), id, revision: 7 });
  await remover.reconcile('red/p', signal);
  expect(neutron.ports.get(id)).toMatchObject({ owner: '', device: '', description: '' });
});

test('the removal of a port is tried again while Neutron is away', async () => {
  remover.learn(addOurs());
  neutron.through = async () => {
    throw new OpenStackError(503, '', 'away');
  };
  expect(await remover.reconcile('red/p', signal)).toEqual({ requeueAfterMs: 10_000 });
  neutron.through = async (call) => call();
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual([]);
});
