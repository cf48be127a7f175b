import { readFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Cluster } from '../env/cluster/cluster.ts';
import { DEFAULT_SYNC } from '../env/cluster/kubelet-config.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { httpRouteCrds } from '../env/http-route-crds.ts';
import { kubectl } from '../support/cluster/cluster-kubectl.ts';
import { OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';
import { RouteLoad } from '../support/routing/route-load.ts';

/** Pods, changes that are timed, and deaths of the operator with ten changes each: `make routes-load` has more. */
const [PODS, TIMED, DEATHS] = (process.env.ROUTES_LOAD ?? '3,5,1').split(',').map(Number) as [
  number,
  number,
  number,
];
const PER_SECOND = 50;
/** A first run builds the node and all images. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(45 * 60_000);

/** Of the time from `kubectl apply` until the last pod obeys, in seconds. */
const BUDGET = { p50: 2, p99: 5 };

function say(text: string): void {
  process.stderr.write(`      ${text}\n`);
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

function figures(milliseconds: readonly number[]) {
  const sorted = milliseconds.map((each) => each / 1000).toSorted((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), max: percentile(sorted, 1) };
}

describeWithNode(`routes of ${PODS} pods under load`, () => {
  let cluster: Cluster;
  let operator: OperatorInCluster;
  let load: RouteLoad;

  beforeAll(async () => {
    cluster = await startCluster({
      images: ['busybox', 'envoy', 'envoy-initializer', 'envoy-initializer-capture'],
      syncFrequency: DEFAULT_SYNC,
      auditLog: 'Metadata',
    });
    await kubectl(cluster, `apply --server-side -k ${await httpRouteCrds()}`);
    operator = new OperatorInCluster({ kubectl: (...args) => cluster.kubectl(...args), own: cluster });
    await operator.install();
    await kubectl(cluster, `apply --server-side -k ${join(projectDirectory(), 'deploy/transparent')}`);
    load = new RouteLoad(cluster);
    await load.start(PODS);
    await load.obeyed(PODS);
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
  });

  test(`change ${TIMED} times, and every pod obeys each`, async () => {
    const [starts, last, all]: [number[], number[], number[]] = [[], [], []];
    try {
      for (let i = 0; i < TIMED; i++) {
        const { began } = await load.change();
        starts.push(began);
        const times = (await load.obeyed(PODS)).map(({ at }) => at - began);
        last.push(Math.max(...times));
        all.push(...times);
      }
    } finally {
      const phases = await load.phases(starts);
      for (const name of ['stored', 'written', 'annotated'] as const) {
        say(`${name}: ${JSON.stringify(figures(phases.flatMap((each) => each[name] ?? [])))} s`);
      }
      say(`annotations: ${phases.map(({ annotations }) => annotations)}`);
      const busy = `load average ${loadavg().map((each) => each.toFixed(1))}`;
      say(
        `last of ${PODS} pods, ${last.length} of ${TIMED} changes: ${JSON.stringify(figures(last))} s, ${busy}`,
      );
      say(`each pod: ${JSON.stringify(figures(all))} s`);
    }
    if (process.env.ROUTES_LOAD === undefined) return;
    const { p50, p99 } = figures(last);
    expect({ p50, p99, isWithin: p50 <= BUDGET.p50 && p99 <= BUDGET.p99 }).toEqual({
      p50,
      p99,
      isWithin: true,
    });
  });

  test(`change under load while the operator is killed ${DEATHS} times, and no request fails`, async () => {
    await operator.scale(2);
    await load.send(PER_SECOND);
    try {
      for (let death = 0; death < DEATHS; death++) {
        for (let i = 0; i < 5; i++) await load.change();
        // While files are written and pods are annotated: by turns all replicas, and the leader alone.
        const leader = await operator.leader();
        const pods = (await operator.pods()).filter(
          ({ name, containerId }) => containerId !== '' && (death % 2 === 0 || name === leader),
        );
        await Promise.all(pods.map((pod) => operator.kill(pod)));
        // New pods, because the kubelet waits longer each time before it starts a killed container again.
        const names = pods.map(({ name }) => name).join(' ');
        await operator.kubectl(`delete pods ${names} --force --grace-period=0`);
        for (let i = 0; i < 5; i++) await load.change();
        await load.obeyed(PODS);
      }
    } finally {
      say(
        `up to change ${load.last}: ${JSON.stringify(await load.counts())}, ${await load.restarts()} restarts`,
      );
    }
    const { asked, failed, v1, v2 } = await load.counts();
    expect({ failed, failures: await load.failures(), restarts: await load.restarts() }).toEqual({
      failed: 0,
      failures: [],
      restarts: 0,
    });
    // Both backends have had their share, and none got what the other's route was for.
    expect(v1).toBeGreaterThan(0);
    expect(v2).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(DEATHS * PER_SECOND);
  });

  test('are those of a pod that starts when every replica is dead', async () => {
    await operator.rolledOut();
    // Policies inject the default template alone.
    const template = await readFile(join(projectDirectory(), 'deploy/transparent/template.yaml'), 'utf8');
    const patch = JSON.stringify({ data: { config: template } });
    await kubectl(cluster, ['patch', 'configmap', OPERATOR, '-n', OPERATOR, '--type=merge', '-p', patch]);
    await eventually('the policies have it', async () =>
      (await kubectl(cluster, 'get mutatingadmissionpolicies -o yaml')).includes('envoy-capture'),
    );
    await operator.scale(0);
    const late = await load.startLate();
    await load.obeyed(PODS + 1);
    const seen = (await load.changes()).filter(({ pod }) => pod === late).map(({ change }) => change);
    expect(seen).toEqual([load.last]);
    expect(await operator.pods({ ending: true })).toEqual([]);
    expect(await load.failures()).toEqual([]);
  });
});
