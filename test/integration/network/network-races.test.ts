import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { type Operator, startOperator } from '../../env/operator.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import {
  type OperatorFixture,
  startOperatorFixture,
  startSecondReplica,
} from '../../support/operator/operator-fixture.ts';

jest.setTimeout(120_000);

const ASKED = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';

/** Two replicas. */
let fixture: OperatorFixture;
let second: Operator;

beforeAll(async () => {
  fixture = await startOperatorFixture();
  second = await startSecondReplica(fixture, '--policy=off');
  await kubectl(`apply -f ${join(projectDirectory(), 'test/env/control-plane/ipam-claim-crd.yaml')}`);
  await kubectl('wait crd/ipamclaims.k8s.cni.cncf.io --for=condition=Established --timeout=20s');
}, 600_000);

afterAll(() => fixture?.stop());

const kubectl = (line: string) => fixture.kubectl(...line.split(' '));

const network = (name: string, cidr: string, gateway: string, namespace = 'default') => ({
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name, namespace },
  spec: { cidr, gateway },
});

const pod = (name: string, asked: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    labels: { race: name.replace(/-\d+$/, '') },
    annotations: { [ASKED]: JSON.stringify([asked]) },
  },
  spec: { containers: [{ name: 'app', image: 'app' }] },
});

const ready = (name: string) => kubectl(`wait network/${name} --for=condition=Ready --timeout=60s`);

interface Racer {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: { readonly schedulingGates?: readonly unknown[] };
}

/** The pods of a race that have passed their gate, with their addresses. */
async function winners(race: string): Promise<readonly (readonly [string, string])[]> {
  const { items } = JSON.parse(await kubectl(`get pods -l race=${race} -o json`)) as {
    items: readonly Racer[];
  };
  return items
    .filter(({ spec }) => !spec.schedulingGates?.length)
    .map(({ metadata: { name, annotations } }) => {
      const [first] = JSON.parse(annotations[MULTUS] ?? '[]') as readonly {
        readonly ips?: readonly string[];
      }[];
      return [name, first?.ips?.[0] ?? ''] as const;
    });
}

/** The replica that leads. */
async function leader(): Promise<Operator> {
  for (const operator of [fixture.operator, second]) {
    const text = await (await fetch(`${operator.metricsUrl}/metrics`)).text();
    if (/^leader_election_master_status\S* 1$/m.test(text)) return operator;
  }
  throw new Error('no replica leads');
}

/** Kills the leader, and starts it again: the other replica takes over. */
async function failOver(): Promise<void> {
  const operator = await leader();
  process.kill(operator.process.pid, 'SIGKILL');
  await operator.restart();
}

/** The operator has handled all pods of a race, as one that comes last shows. */
async function untilHandled(name: string, round: number): Promise<void> {
  await fixture.apply(pod(`${name}-last-${round}`, { name }));
  await eventually('the last pod has an address', async () => {
    return (await winners(`${name}-last`)).length === round;
  });
}

const times = <T>(count: number, each: (index: number) => T) =>
  Array.from({ length: count }, (_, i) => each(i));

test('of many pods that ask for one address or IPAMClaim, one gets it, also when the leader is killed', async () => {
  const fixed = { name: 'static', ips: ['10.30.0.7/24'] };
  const claiming = { name: 'claimed', 'ipam-claim-reference': 'db' };
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name: 'db' },
    spec: { network: 'claimed', interface: 'net1' },
  };
  // They wait for their Networks: the webhooks call the first replica alone, so it must live when they are created.
  await fixture.apply(...times(50, (i) => pod(`static-${i}`, fixed)));
  await fixture.apply(...times(30, (i) => pod(`claimed-${i}`, claiming)));
  const networks = [
    network('static', '10.30.0.0/24', '10.30.0.1'),
    network('claimed', '10.31.0.0/24', '10.31.0.1'),
  ];
  await Promise.all([fixture.apply(claim, ...networks), failOver()]);
  for (const name of ['static', 'claimed']) {
    await untilHandled(name, 1);
    await eventually(`a pod has the address of ${name}`, async () => (await winners(name)).length > 0);
  }
  const [[first, ip] = ['', '']] = await winners('static');
  expect([await winners('static'), ip]).toEqual([[[first, ip]], '10.30.0.7/24']);
  const [[user, claimed] = ['', '']] = await winners('claimed');
  expect(await winners('claimed')).toHaveLength(1);
  const { status } = JSON.parse(await kubectl('get ipamclaim db -o json'));
  expect(status).toEqual({ ips: [claimed], ownerPod: { name: user } });
  await kubectl(`delete pod ${first} --now`);
  await eventually('another pod has it', async () => (await winners('static')).length > 0);
  await untilHandled('static', 2);
  expect(await winners('static')).toEqual([[expect.anything(), '10.30.0.7/24']]);
});

test('a Network that is made again with another range gives no address twice', async () => {
  await fixture.apply(network('again', '10.32.0.0/24', '10.32.0.1'));
  await ready('again');
  await fixture.apply(...times(3, (i) => pod(`old-${i}`, { name: 'again' })));
  await eventually('three addresses', async () => (await winners('old')).length === 3);
  const old = await winners('old');
  // By a user who does not wait for the pods.
  await kubectl('delete network again --wait=false');
  const patch = ['patch', 'network', 'again', '--type=merge', '-p', '{"metadata":{"finalizers":null}}'];
  await fixture.kubectl(...patch);
  await kubectl('wait network/again --for=delete --timeout=20s');
  await fixture.apply(network('again', '10.32.0.0/28', '10.32.0.1'));
  await ready('again');
  await fixture.apply(...times(3, (i) => pod(`new-${i}`, { name: 'again' })));
  await eventually('three addresses', async () => (await winners('new')).length === 3);
  const hosts = [...old, ...(await winners('new'))].map(([, ip]) => ip.replace(/\/.*/, ''));
  expect(new Set(hosts).size).toBe(6);
  expect(await winners('old')).toEqual(old);
});

test('an installation in another namespace takes over: two operators never give addresses at once', async () => {
  await fixture.apply(network('two', '10.41.0.0/24', '10.41.0.1'));
  await ready('two');
  await kubectl('create namespace mesh-system');
  await serviceAccount(fixture.controlPlane, 'mesh-system');
  await startOperator(fixture.controlPlane, {
    name: 'other',
    namespace: 'mesh-system',
    log: join(fixture.controlPlane.directory, 'other.log'),
    args: ['--policy=off'],
  });
  await fixture.apply(...times(40, (i) => pod(`two-${i}`, { name: 'two' })));
  await eventually('40 addresses', async () => (await winners('two')).length === 40);
  expect(new Set((await winners('two')).map(([, ip]) => ip)).size).toBe(40);
  const account = (namespace: string) => `--as=system:serviceaccount:${namespace}:envoy-initializer`;
  const can = async (namespace: string) =>
    (
      await fixture.controlPlane.kubectl(['auth', 'can-i', 'patch', 'pods', account(namespace)])
    ).stdout.trim();
  expect([await can('envoy-initializer'), await can('mesh-system')]).toEqual(['no', 'yes']);
});
