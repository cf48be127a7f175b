import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { MINOR } from '../../support/jest/since.ts';
import { NetworkWorld, networkOf } from '../../support/network/network-world.ts';

jest.setTimeout(90_000);

let world: NetworkWorld;
const run: NetworkWorld['run'] = (...args) => world.run(...args);

beforeAll(async () => {
  world = await NetworkWorld.start({ args: ['--cluster-cidrs=10.210.0.0/16'] });
}, 600_000);

afterAll(() => world?.stop());

const addNetwork = (name: string, cidr: string, metadata: object = {}) =>
  world.apply(networkOf(name, cidr, {}, metadata));

/** Waits until the condition is of this status and reason, and returns its message. */
async function condition(name: string, type: string, wanted: string): Promise<string> {
  const field = (of: string) => world.condition(name, type, of);
  await eventually(
    `${type} of ${name} is ${wanted}`,
    async () => `${await field('status')} ${await field('reason')}` === wanted,
  );
  return field('message');
}

/** Nothing has been made for it. */
async function isUnrealised(name: string): Promise<boolean> {
  const [status, definitions] = [
    await run(`get network ${name} -o jsonpath={.status.cidr}`),
    await run('get net-attach-def -o name'),
  ];
  return status === '' && !definitions.split('\n').some((line) => line.endsWith(`/${name}`));
}

const slice = (addresses: readonly string[]) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'kubernetes',
    namespace: 'default',
    labels: { 'kubernetes.io/service-name': 'kubernetes' },
  },
  addressType: 'IPv4',
  endpoints: [{ addresses }],
  ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
});

interface Source {
  readonly what: string;
  readonly cidr: string;
  readonly message: string;
  readonly take: () => Promise<unknown>;
  readonly free: () => Promise<unknown>;
}

const sources: readonly Source[] = [
  {
    what: 'a node',
    cidr: '10.201.0.0/25',
    message: '10.201.0.0/25 overlaps 10.201.0.3 of node lan',
    take: () => world.addNode('lan', '10.201.0.3'),
    free: () => run('delete node lan'),
  },
  {
    what: 'the pods of a node',
    cidr: '10.202.0.0/16',
    message: '10.202.0.0/16 overlaps 10.202.7.0/24 of the pods on node pods',
    take: () => world.addNode('pods', undefined, { podCIDR: '10.202.7.0/24' }),
    free: () => run('delete node pods'),
  },
  {
    what: 'the API server',
    cidr: '10.203.0.0/24',
    message: '10.203.0.0/24 overlaps 10.203.0.7 of the API server',
    take: () => world.apply(slice(['10.203.0.7'])),
    free: () => world.apply(slice(['192.0.2.7'])),
  },
  {
    what: 'the Services',
    cidr: '10.204.0.0/24',
    message: '10.204.0.0/24 overlaps 10.204.0.0/26 of the Services',
    take: () =>
      world.apply({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'ServiceCIDR',
        metadata: { name: 'more' },
        spec: { cidrs: ['10.204.0.0/26'] },
      }),
    free: () => run('delete servicecidr more'),
  },
];

/** Older API servers have no ServiceCIDRs. */
const served = sources.filter(({ what }) => what !== 'the Services' || MINOR >= 33);

test.each(served)('a range of $what is taken; a live Network keeps it, with a warning', async (source) => {
  const { what, cidr, message, take, free } = source;
  const number = sources.indexOf(source);
  const [live, late] = [`live-${number}`, `late-${number}`];
  await addNetwork(live, cidr);
  await condition(live, 'Ready', 'True Ready');
  await take();
  expect(await condition(live, 'Accepted', 'True ClusterRange')).toContain(
    `${message}: pods on the Network cannot reach addresses that are in both ranges`,
  );
  await condition(live, 'Ready', 'True Ready');
  await run(`delete network ${live}`);
  await addNetwork(late, cidr);
  const refused = `${message}: use a range that does not overlap it`;
  expect(await condition(late, 'Accepted', 'False RangeTaken')).toBe(refused);
  expect(await condition(late, 'Ready', 'False RangeTaken')).toBe(refused);
  expect(await isUnrealised(late)).toBe(true);
  await free();
  await condition(late, 'Ready', 'True Ready');
  expect(await condition(late, 'Accepted', 'True Accepted')).not.toContain(what);
});

test('a range of --cluster-cidrs is taken', async () => {
  await addNetwork('told', '10.210.9.0/24');
  expect(await condition('told', 'Accepted', 'False RangeTaken')).toContain(
    '10.210.0.0/16 of --cluster-cidrs',
  );
});

test('an edit of a Network to a taken range keeps the network that there is', async () => {
  await addNetwork('edited', '10.211.0.0/24');
  await condition('edited', 'Ready', 'True Ready');
  await addNetwork('edited', '10.210.0.0/24');
  await condition('edited', 'Accepted', 'False RangeTaken');
  await condition('edited', 'Ready', 'True ChangeRefused');
  expect(await run('get network edited -o jsonpath={.status.cidr}')).toBe('10.211.0.0/24');
});

test('a finalizer that the user writes gives a Network no range', async () => {
  await addNetwork('forged', '10.210.8.0/24', { finalizers: ['samplecrd.k8s.io/network-cleanup'] });
  await condition('forged', 'Accepted', 'False RangeTaken');
  expect(await isUnrealised('forged')).toBe(true);
});

test('a definition that the user writes gives a Network no range', async () => {
  await addNetwork('worded', '10.210.7.0/24');
  await condition('worded', 'Accepted', 'False RangeTaken');
  const uid = await run('get network worded -o jsonpath={.metadata.uid}');
  const shape = JSON.stringify({ cidr: '10.210.7.0/24', gateway: '10.210.7.1' });
  const network = { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', name: 'worded', uid };
  await world.apply({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      ...{ name: 'worded', namespace: 'default', ownerReferences: [{ ...network, controller: true }] },
      annotations: { 'samplecrd.k8s.io/network-shape': shape },
    },
    spec: { config: '{}' },
  });
  // Made after it, so that it was seen when this one is done.
  await addNetwork('after', '10.212.0.0/24');
  await condition('after', 'Ready', 'True Ready');
  await run('patch network worded --type=merge -p {"spec":{"mtu":1400}}');
  await eventually('it was judged again', async () => {
    const [generation, observed] = (
      await run('get network worded -o jsonpath={.metadata.generation};{.status.observedGeneration}')
    ).split(';');
    return generation === observed;
  });
  expect(await run('get network worded -o jsonpath={.status.cidr}')).toBe('');
});
