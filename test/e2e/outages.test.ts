import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Cluster } from '../env/cluster/cluster.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { FOR_THE_WEBHOOK, IDLE_SPEC, OPTED_IN } from '../support/cluster/admission-load.ts';
import { apply, kubectl } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';
import { fakedClockConfigMap, fakedClockPatch, setClock } from '../support/time/faked-clock.ts';

/** A first run builds the node and our own image. */
const PREPARATION_MS = 60 * 60_000;
/** Longer than the 10 s after which a leader that cannot renew its lease gives up. */
const OUTAGE_MS = Number(process.env.E2E_OUTAGE_SECONDS ?? 15) * 1000;
const ATTACHMENT_CRD = 'test/env/control-plane/network-attachment-definition-crd.yaml';
jest.setTimeout(OUTAGE_MS + 300_000);

let cluster: Cluster;
let operator: OperatorInCluster;
let step = 0;

/** Asks for all that the operator does, until it is done; prints how long that took. */
async function recovered(what: string): Promise<void> {
  const began = performance.now();
  step += 1;
  const name = `after-${step}`;
  const metadata = { name, namespace: 'default' };
  const asking = { ...metadata, labels: OPTED_IN, annotations: FOR_THE_WEBHOOK };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: asking, spec: IDLE_SPEC };
  const network = {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata,
    spec: { cidr: `10.9.${step}.0/24`, gateway: `10.9.${step}.1` },
  };
  await eventually('a pod is injected', async () => {
    await apply(cluster, pod);
    return true;
  });
  const containers = await kubectl(cluster, `get pod ${name} -o jsonpath={.spec.containers[*].name}`);
  expect(containers).toBe('app envoy');
  const webhook = performance.now() - began;
  await apply(cluster, network);
  await kubectl(cluster, `wait network/${name} --for=condition=Ready --timeout=60s`);
  const controller = performance.now() - began;
  await operator.rolledOut();
  process.stderr.write(
    `      ${what}: pods injected after ${seconds(webhook)}, Networks made after ${seconds(controller)}\n`,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

async function restarts(): Promise<number[]> {
  return (await operator.pods()).map((pod) => pod.restarts);
}

describeWithNode('outages', () => {
  beforeAll(async () => {
    cluster = await startCluster({ images: ['busybox', 'envoy-initializer'], auditLog: 'Metadata' });
    operator = new OperatorInCluster({
      own: cluster,
      kubectl: (args, input) => cluster.kubectl(args, input),
    });
    await kubectl(cluster, `apply -f ${join(projectDirectory(), ATTACHMENT_CRD)}`);
    await operator.install();
    await recovered('at the start');
  }, PREPARATION_MS);

  afterAll(() => stopCluster(cluster));

  test('the operator recovers by itself from an API server that is away', async () => {
    await cluster.controlPlane.stopApiServer('SIGKILL');
    await delay(OUTAGE_MS);
    await cluster.controlPlane.startApiServer();
    await recovered(`an API server that was away for ${seconds(OUTAGE_MS)}`);
    expect(await restarts()).toEqual([0, 0]);
  });

  test('the operator recovers by itself from an etcd that is killed and comes back', async () => {
    await cluster.controlPlane.restartEtcd('SIGKILL');
    await recovered('an etcd that was killed');
    expect(await restarts()).toEqual([0, 0]);
  });

  test('the operator recovers by itself from a clock that jumps by an hour, forward and back', async () => {
    const patch = JSON.stringify(fakedClockPatch('faketime', OPERATOR));
    await operator.kubectl('apply -f -', JSON.stringify(await fakedClockConfigMap('faketime')));
    await kubectl(cluster, ['patch', `deployment/${OPERATOR}`, `--namespace=${OPERATOR}`, '--patch', patch]);
    await operator.rolledOut();
    for (const [offset, hours] of [
      ['+1h', 1],
      ['+0', 0],
    ] as const) {
      for (const { name } of await operator.pods()) {
        await kubectl(cluster, ['exec', name, `--namespace=${OPERATOR}`, '--', ...setClock(offset)]);
        expect(await clockOf(name)).toBeCloseTo(Date.now() + hours * 3_600_000, -5);
      }
      await recovered(`a clock that is set to ${offset}`);
    }
    expect(await restarts()).toEqual([0, 0]);
  });
});

/** Milliseconds since 1970, by a process of the pod. */
async function clockOf(pod: string): Promise<number> {
  const now = ['node', '--print', 'Date.now()'];
  return Number(await kubectl(cluster, ['exec', pod, `--namespace=${OPERATOR}`, '--', ...now]));
}
