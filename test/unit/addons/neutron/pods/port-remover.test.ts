import { beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { OpenStackError } from '../../../../../src/addons/neutron/openstack/error.ts';
import { PortRemover } from '../../../../../src/addons/neutron/pods/port-remover.ts';
import { NEUTRON_NETWORKS, type NeutronPort } from '../../../../../src/addons/neutron/resources.ts';
import { ApiError } from '../../../../../src/kube/api/api-error.ts';
import { FakeNeutron } from '../../../../support/neutron/fake-neutron.ts';

const { signal } = new AbortController();
const log = pino({ level: 'silent' });
const OURS = { owner: 'envoy-initializer:pod', device: 'uid-p', description: 'Kubernetes Pod red/p' };

let neutron: FakeNeutron;
let networkId: string;
/** Pods in the API server, by key. */
let live: Map<string, object>;
let queued: string[];
let remover: PortRemover;
let owners: string[];

beforeEach(async () => {
  neutron = new FakeNeutron();
  const network = await neutron.api.create(NEUTRON_NETWORKS, { name: 'red/blue', description: '' }, signal);
  networkId = network.id;
  [live, queued, owners] = [new Map(), [], ['cluster']];
  remover = new PortRemover({
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
])('a port goes when its pod is %s', async (_, pod) => {
  live.set('red/p', pod());
  remover.learn(addOurs());
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual([]);
});

test('a sweep finds ports without a pod, and never those of others', async () => {
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

test('a sweep leaves networks of other clusters alone', async () => {
  owners = ['another'];
  addOurs();
  await remover.sweep(signal);
  expect(queued).toEqual([]);
});

test('of two ports of a pod, the one in its annotation stays, and both while it has none', async () => {
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

test('while Neutron is away, the port is tried again', async () => {
  remover.learn(addOurs());
  neutron.through = async () => {
    throw new OpenStackError(503, '', 'away');
  };
  expect(await remover.reconcile('red/p', signal)).toEqual({ requeueAfterMs: 10_000 });
  neutron.through = async (call) => call();
  await remover.reconcile('red/p', signal);
  expect(left()).toEqual([]);
});
