import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { startOperator } from '../../env/operator.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import {
  type OperatorFixture,
  startOperatorFixture,
  startSecondReplica,
} from '../../support/operator/operator-fixture.ts';

jest.setTimeout(120_000);

const ASKED = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture();
  await startSecondReplica(fixture, '--policy=off');
}, 600_000);

// The other installation takes its rights away.
afterAll(() => fixture?.stop({ mayBeRefused: true }));

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

const times = <T>(count: number, each: (index: number) => T) =>
  Array.from({ length: count }, (_, i) => each(i));

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
