import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import type { KubeObject } from '../../src/kube/api/object.ts';
import { eventually } from '../env/eventually.ts';
import {
  AdmissionLoad,
  FOR_THE_WEBHOOK,
  hasSidecar,
  IDLE_SPEC,
  OPTED_IN,
} from '../support/cluster/admission-load.ts';
import { ageCertificate } from '../support/cluster/age-certificate.ts';
import { apply, kubectl } from '../support/cluster/cluster-kubectl.ts';
import { type E2eCluster, startE2eCluster, type TEST_NAMESPACES } from '../support/cluster/e2e-cluster.ts';
import { OperatorInCluster, type OperatorPod } from '../support/cluster/operator-in-cluster.ts';
import { describeWithCluster, testWithNode } from '../support/jest/describe-with-cluster.ts';
import { type ApiAccess, connect } from '../support/operator/api-access.ts';

/** A first run builds the node and our own image. */
const PREPARATION_MS = 60 * 60_000;
/** How long pods are created while the operator is rolled: by default once through. */
const SOAK_MS = Number(process.env.E2E_SOAK_SECONDS ?? 0) * 1000;
const NAMESPACE: (typeof TEST_NAMESPACES)[number] = 'e2e-load';
/** The endpoints of a pod that is ready again reach kube-proxy within it. */
const SETTLE_MS = 3_000;
jest.setTimeout(SOAK_MS + 300_000);

let cluster: E2eCluster;
let operator: OperatorInCluster;
let api: ApiAccess;
let load: AdmissionLoad;

function say(text: string): void {
  process.stderr.write(`      ${text}\n`);
}

describeWithCluster('two replicas', () => {
  beforeAll(async () => {
    cluster = await startE2eCluster({ images: ['busybox', 'envoy-initializer'] });
    operator = new OperatorInCluster(cluster);
    api = connect(cluster.kubeconfigPath);
    await operator.install();
    await kubectl(cluster, `create namespace ${NAMESPACE}`);
  }, PREPARATION_MS);

  beforeEach(() => {
    load = new AdmissionLoad(api.client, NAMESPACE);
    load.start();
  });

  afterEach(async () => {
    await load.stop();
    await kubectl(cluster, `delete pods,deployments --all --namespace ${NAMESPACE} --wait=false`);
  });

  afterAll(async () => {
    await api?.close();
    await cluster?.stop();
  });

  test('no pod is refused or without its sidecar while replicas are restarted, scaled, evicted and renewed', async () => {
    const until = performance.now() + SOAK_MS;
    do {
      for (const [what, act] of Object.entries(MAINTENANCE)) {
        const before = load.refusals.length;
        await act();
        await delay(500);
        if (load.refusals.length > before) say(`${what}: ${load.refusals.length - before} refused`);
      }
    } while (performance.now() < until);
    await load.stop();
    say(load.summary());
    expect({ refusals: load.refusals, bare: load.bare }).toEqual({ refusals: [], bare: [] });
    expect(load.admitted).toBeGreaterThan(50);
  });

  testWithNode(
    'no pod is without its sidecar, or refused for long or for good, while replicas are killed',
    async () => {
      await apply(cluster, workload(0));
      const [pods, leader] = await Promise.all([operator.pods(), operator.leader()]);
      const isLeader = ({ name }: OperatorPod) => name === leader;
      expect(pods.filter(isLeader)).toHaveLength(1);
      await killAndWatch('the leader', pods.filter(isLeader), 10);
      await killAndWatch(
        'the other',
        pods.filter((pod) => !isLeader(pod)),
        20,
      );
      // New ones: the kubelet makes wait whose container has ended once before.
      await operator.kubectl('rollout restart deployment/envoy-initializer');
      await operator.rolledOut();
      await killAndWatch('both', await operator.pods(), 30);
      await load.stop();
      say(load.summary());
      const names = await podsWithoutSidecar();
      expect({ bare: load.bare, names }).toEqual({ bare: [], names: [] });
    },
  );
});

/** Kills replicas at once, and scales a Deployment meanwhile. */
async function killAndWatch(what: string, pods: readonly OperatorPod[], replicas: number): Promise<void> {
  const at = performance.now();
  await Promise.all(pods.map((pod) => operator.kill(pod)));
  await apply(cluster, workload(replicas));
  await eventually('the killed are ready again', async () => {
    const now = await operator.pods();
    return pods.every(({ name, restarts }) =>
      now.some((pod) => pod.name === name && pod.restarts > restarts && pod.ready),
    );
  });
  const readyAfter = performance.now() - at;
  await kubectl(
    cluster,
    `wait deployment/workload --namespace ${NAMESPACE} --for=jsonpath={.status.replicas}=${replicas} --timeout=60s`,
  );
  // Until the endpoints say so, too.
  await delay(SETTLE_MS);
  const refusals = load.refusals.filter((refusal) => refusal.at >= at);
  const last = Math.max(0, ...refusals.map((refusal) => refusal.at - at));
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  say(
    `${what} killed: ready again after ${seconds(readyAfter)}; ${refusals.length} pods refused, the last ${seconds(last)} after`,
  );
  expect(last).toBeLessThan(readyAfter + SETTLE_MS);
  const others = refusals.filter(({ message }) => !message.includes('envoy.initializer.kubernetes.io'));
  expect(others).toEqual([]);
}

async function podsWithoutSidecar(): Promise<string[]> {
  const { items } = JSON.parse(await kubectl(cluster, `get pods --namespace ${NAMESPACE} --output json`));
  return items.filter((pod: object) => !hasSidecar(pod)).map(({ metadata }: KubeObject) => metadata.name);
}

function workload(replicas: number): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'workload', namespace: NAMESPACE },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'workload' } },
      template: {
        metadata: { labels: { app: 'workload', ...OPTED_IN }, annotations: FOR_THE_WEBHOOK },
        spec: IDLE_SPEC,
      },
    },
  };
}

const MAINTENANCE: Readonly<Record<string, () => Promise<void>>> = {
  'a rolling restart': async () => {
    await operator.kubectl('rollout restart deployment/envoy-initializer');
    await operator.rolledOut();
  },
  'up to 3': () => operator.scale(3),
  'down to 1': () => operator.scale(1),
  'back to 2': () => operator.scale(2),
  'a drain': async () => {
    for (const pod of await operator.pods()) {
      await operator.evict(pod);
      await operator.rolledOut();
    }
  },
  'a certificate that is due': async () => {
    await ageCertificate(api.client);
  },
  'a Secret that is gone': async () => {
    const uid = () =>
      operator.kubectl('get secret envoy-initializer-tls -o jsonpath={.metadata.uid} --ignore-not-found');
    const before = await uid();
    await operator.kubectl('delete secret envoy-initializer-tls');
    await eventually('it is there again', async () => !['', before].includes(await uid()));
    // Requests go on, by new connections too, while the replicas take it.
    const { admitted } = load;
    await eventually('100 more pods were admitted', async () => load.admitted >= admitted + 100);
  },
};
