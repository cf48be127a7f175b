import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { METRICS_PATH, METRICS_PORT } from '../../src/injection/envoy/files.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { freePorts } from '../env/control-plane/free-ports.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { ensureFlagger, flaggerCrds, startFlagger } from '../env/flagger.ts';
import { httpRouteCrds } from '../env/gateway-api-crds.ts';
import { ensurePrometheus } from '../env/prometheus.ts';
import { kubectl } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';
import { nodeObstacle } from '../support/jest/describe-with-cluster.ts';
import { RunningPrometheus } from '../support/operator/running-prometheus.ts';

/** A first run builds the node, all images and Flagger. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(600_000);

const deploy = join(projectDirectory(), 'deploy');
const examples = join(deploy, 'examples', 'flagger');
const obstacle = process.env.TEST_PARTNERS ? nodeObstacle : 'it builds Flagger: make test-partners';

describeUnless(obstacle, 'Flagger', () => {
  let cluster: Cluster;
  let operator: OperatorInCluster;
  const log: string[] = [];
  const run = (args: string, input?: string) => kubectl(cluster, args, input);

  beforeAll(async () => {
    await ensureFlagger(process.env, process.stderr);
    const { prometheus: program } = await ensurePrometheus(process.env, process.stderr);
    cluster = await startCluster({
      images: ['busybox', 'envoy', 'envoy-initializer', 'envoy-initializer-capture'],
      auditLog: 'Metadata',
    });
    await run(`apply --server-side -k ${await httpRouteCrds()}`);
    await run('apply --server-side -f -', await flaggerCrds());
    operator = new OperatorInCluster({ kubectl: (...args) => cluster.kubectl(...args), own: cluster });
    await operator.install();
    await run(`apply --server-side -k ${join(deploy, 'transparent')}`);

    await run(`apply -f ${join(examples, 'app.yaml')}`);
    await run('rollout status deployment/client --timeout=180s');
    const { controlPlane, machine, kubeconfigPath } = cluster;
    const addresses = await run('get pods --selector app=client -o jsonpath={.items[*].status.podIP}');
    const targets = addresses.split(' ').map((address) => `${address}:${METRICS_PORT}`);
    const prometheus = await RunningPrometheus.start(program, controlPlane, {
      // Debian's Prometheus does not know Kubernetes.
      scrape: { metrics_path: METRICS_PATH, static_configs: [{ targets }] },
      address: machine.address,
    });
    const url = `http://${machine.address}:${prometheus.port}`;
    const [port = 0] = await freePorts(1);
    await startFlagger(
      controlPlane.supervisor,
      { kubeconfig: kubeconfigPath, prometheus: url, port },
      (line) => log.push(line),
    );

    const canary = await readFile(join(examples, 'canary.yaml'), 'utf8');
    await run('apply -f -', canary.replaceAll('http://prometheus.monitoring:9090', url));
    await run('wait canary/shop --for=jsonpath={.status.phase}=Initialized --timeout=240s');
    await run('rollout status deployment/shop-primary --timeout=180s');
    await eventually('clients are answered', async () => (await answers()).at(-1) === 'v1');
  }, PREPARATION_MS);

  afterAll(() => stopCluster(cluster));

  /** What one of the clients has printed. */
  async function answers(): Promise<readonly string[]> {
    const text = await run('logs deployment/client --container=client');
    return text.trim().split('\n');
  }

  async function failures(): Promise<number> {
    const text = await run('logs --selector app=client --container=client --tail=-1');
    return text.split('\n').filter((line) => line === 'failed').length;
  }

  /** Begins a canary; resolves with its end, and the weights of the new version that were seen, in order. */
  async function canary(
    env: string,
    meanwhile: (weight: number) => Promise<void> = async () => {},
  ): Promise<{ readonly phase: string; readonly weights: readonly number[] }> {
    await run(`set env deployment/shop ${env}`);
    await run('wait canary/shop --for=jsonpath={.status.phase}=Progressing --timeout=60s');
    const weights: number[] = [];
    let phase = '';
    await eventually(
      'the canary has ended',
      async () => {
        const route = JSON.parse(await run('get httproute shop -o json'));
        const weight: number = route.spec.rules[0].backendRefs[1].weight;
        if (weights.at(-1) !== weight) {
          weights.push(weight);
          await meanwhile(weight);
        }
        phase = await run('get canary shop -o jsonpath={.status.phase}');
        return phase === 'Succeeded' || phase === 'Failed';
      },
      { boundMs: 480_000, everyMs: 500 },
    );
    return { phase, weights };
  }

  test('Flagger promotes a good version step by step, also when the operator is killed, and no request fails', async () => {
    const before = await failures();
    const { phase, weights } = await canary('VERSION=v2', async (weight) => {
      if (weight !== 50) return;
      const [pod] = await operator.pods();
      if (pod !== undefined) await operator.kill(pod);
    });
    expect({ phase, weights }).toEqual({ phase: 'Succeeded', weights: [0, 10, 50, 100, 0] });
    await eventually('all have the new version', async () =>
      (await answers()).slice(-20).every((each) => each === 'v2'),
    );
    process.stderr.write(`      ${(await answers()).length} answers to one of two clients\n`);
    expect((await failures()) - before).toBe(0);
    expect((await operator.pods()).some(({ restarts }) => restarts > 0)).toBe(true);
  });

  test.each([
    ['answers 500', 'VERSION=v3 STATUS=500'],
    ['gets slow', 'VERSION=v4 STATUS=200 DELAY=1'],
  ])('Flagger takes a version back that %s', async (_, env) => {
    const { phase, weights } = await canary(env);
    expect({ phase, weights }).toEqual({ phase: 'Failed', weights: [0, 10, 0] });
    // A share of a tenth would show in as many.
    await eventually('all have the old version', async () => {
      const last = (await answers()).slice(-200);
      return last.length === 200 && last.every((each) => each === 'v2');
    });
  });
});
