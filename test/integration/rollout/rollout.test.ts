import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { PODS } from '../../../src/kube/api/core-resources.ts';
import { runCli } from '../../../src/program.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import { eventually } from '../../env/eventually.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { decideInput, OPT_IN, templateSet } from '../../support/injection/demo.ts';
import { injectChecked } from '../../support/injection/inject-checked.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { operatorCalls } from '../../support/operator/rights.ts';
import { frozenImages } from '../../support/rollout/frozen-images.ts';
import { addRolloutRights } from '../../support/rollout/rollout-rights.ts';
import { SimulatedKubelet } from '../../support/rollout/simulated-kubelet.ts';

/** By `make fleet-rollout`, 10,000 pods. */
const WORKLOADS = Number(process.env.ROLLOUT_WORKLOADS ?? 5);
const REPLICAS = Number(process.env.ROLLOUT_REPLICAS ?? 8);
const BOUND_MS = Number(process.env.ROLLOUT_BOUND_SECONDS ?? 240) * 1000;
const SLOWLY = { boundMs: BOUND_MS, everyMs: 250 };
const FAILURES = 2;
const OPERATOR = 'envoy-initializer';
const DRAIN = 'initializer.kubernetes.io/drain';
jest.setTimeout(2 * BOUND_MS);

let fixture: OperatorFixture;
let api: ApiAccess;
let kubelet: SimulatedKubelet;
/** The image that all pods have. */
let image = 'envoy:v1';

const say = (text: string) => void process.stderr.write(`      ${text}\n`);

function template(name: string): string {
  const drain = [{ path: 'drain', fieldRef: { fieldPath: `metadata.annotations['${DRAIN}']` } }];
  const envoy = {
    name: 'envoy',
    image: name,
    volumeMounts: [{ name: 'drain', mountPath: '/etc/drain' }],
    readinessProbe: { httpGet: { path: '/ready', port: 15021 } },
  };
  return JSON.stringify({ containers: [envoy], volumes: [{ name: 'drain', downwardAPI: { items: drain } }] });
}

const STRATEGY = `
mode: in-place
maxUnavailable: 25%
perMinute: 100000
breaker: {failures: ${FAILURES}, of: 10, within: 30s, then: back}
`;
const MOST_UNREADY = Math.ceil(REPLICAS / 4);

async function write(name: string): Promise<void> {
  const data = { config: template(name), rollout: STRATEGY };
  const patch = ['--type=merge', '--patch', JSON.stringify({ data })];
  await fixture.kubectl('patch', 'configmap', OPERATOR, `--namespace=${OPERATOR}`, ...patch);
}

const imageOf = ({ spec }: SimulatedKubelet['pods'][number]) =>
  spec.containers.find(({ name }) => name === 'envoy')?.image;

/** Resolves when all pods have the image, and are drained no more. */
async function settled(name: string): Promise<void> {
  await eventually(
    `all pods have ${name}`,
    async () => {
      kubelet.check();
      return kubelet.pods.every(
        (pod) =>
          imageOf(pod) === name &&
          pod.metadata.annotations?.[DRAIN] === undefined &&
          pod.status.containerStatuses?.every(({ ready }) => ready),
      );
    },
    SLOWLY,
  );
}

/**
 * The operator's writes of pods, by the audit log. Dry runs are not among them, nor the last requests of a killed
 * operator, which changed nothing.
 */
async function writes(): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { verb, resource, name, uri, code } of await operatorCalls(fixture.controlPlane.auditLogPath)) {
    if (verb !== 'patch' || code !== 200 || uri.includes('dryRun') || !/^pods(\/resize)?$/.test(resource))
      continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function metric(series: string): Promise<number | undefined> {
  const text = await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

async function notes(reason: string): Promise<readonly string[]> {
  const selector = `--field-selector=reason=${reason}`;
  const { items } = JSON.parse(
    await fixture.kubectl('get', 'events.events.k8s.io', `--namespace=${OPERATOR}`, selector, '-o', 'json'),
  );
  return (items as { note: string }[]).map(({ note }) => note);
}

/** What the log advises an operator without the rights of a rollout. */
async function advice(): Promise<readonly string[]> {
  const lines = (await readFile(fixture.logFile, 'utf8')).split('\n');
  return lines.filter((line) => line.includes('deploy/overlays/rollout'));
}

/** Types a command of the command line. */
async function command(...words: readonly string[]) {
  const terminal = new MemoryTerminal();
  const flags = [`--kubeconfig=${fixture.controlPlane.kubeconfigPath}`, `--operator-namespace=${OPERATOR}`];
  const code = await runCli(['node', 'envoy-initializer', ...words, ...flags], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

async function createFleet(): Promise<void> {
  const state = { set: templateSet({ config: template('envoy:v1') }) };
  const pods = Array.from({ length: WORKLOADS }, (_, w) => {
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      name: `web-${w}`,
      uid: randomUUID(),
      controller: true,
    };
    return Array.from({ length: REPLICAS }, (__, i): JsonObject => {
      const pod: JsonObject = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `web-${w}-${i}`,
          namespace: 'default',
          annotations: { [OPT_IN]: 'true' },
          ownerReferences: [owner],
        },
        spec: { nodeName: `node-${(w + i) % 50}`, containers: [{ name: 'app', image: 'app' }] },
      };
      return injectChecked(decideInput(pod, { state })).pod;
    });
  }).flat();
  const left = [...pods];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let pod = left.pop(); pod; pod = left.pop()) {
        await api.client.create(PODS, pod as unknown as Parameters<typeof api.client.create>[1]);
      }
    }),
  );
}

beforeAll(async () => {
  // It would delete pods whose owners and nodes do not exist.
  const { 'kube-controller-manager': _, ...binaries } = await findBinaries(process.env);
  fixture = await startOperatorFixture({ binaries });
  await serviceAccount(fixture.controlPlane, 'default');
  await write('envoy:v0');
  await eventually('the log says which rights are missing', async () => (await advice()).length > 0);
  await addRolloutRights(fixture);
  api = connect(fixture.controlPlane.kubeconfigPath);
  await write('envoy:v1');
  await createFleet();
  kubelet = new SimulatedKubelet(api.client, (name) => name.includes('broken'));
  await eventually(
    'all pods are Ready',
    async () => {
      kubelet.check();
      return (
        kubelet.pods.length === WORKLOADS * REPLICAS &&
        kubelet.pods.every(({ status }) => status.containerStatuses?.every(({ ready }) => ready))
      );
    },
    SLOWLY,
  );
  await eventually(
    'the first template is promoted',
    async () => {
      return (await metric('envoy_initializer_rollout_pods{state="current"}')) === WORKLOADS * REPLICAS;
    },
    SLOWLY,
  );
}, BOUND_MS);

afterAll(async () => {
  await kubelet?.stop();
  await api?.close();
  await fixture?.stop();
});

describe(`${WORKLOADS * REPLICAS} pods of ${WORKLOADS} workloads`, () => {
  test('have waited for the rights, which the log has named once', async () => {
    expect(await advice()).toHaveLength(1);
    expect(await notes('RolloutForbidden')).toEqual([
      expect.stringContaining('apply deploy/overlays/rollout'),
    ]);
  });

  test('get a new template within their budgets, while the operator is killed three times', async () => {
    kubelet.mostUnready = 0;
    const start = performance.now();
    await write('envoy:v2');
    const watching = command('rollout', '--watch');
    for (let kills = 1; kills <= 3; kills += 1) {
      await eventually(
        'more pods are changed',
        async () => {
          kubelet.check();
          return (
            kubelet.pods.filter((pod) => imageOf(pod) === 'envoy:v2').length >=
            (kills * kubelet.pods.length) / 4
          );
        },
        SLOWLY,
      );
      fixture.operator.process.kill('SIGKILL');
      await fixture.operator.restart();
    }
    await settled('envoy:v2');
    image = 'envoy:v2';
    const counts = [...(await writes()).values()];
    say(
      `${((performance.now() - start) / 1000).toFixed(0)} s, at most ${Math.max(...counts)} writes per pod, at most ${kubelet.mostUnready} of ${REPLICAS} pods of a workload not Ready`,
    );
    expect(kubelet.mostUnready).toBeLessThanOrEqual(MOST_UNREADY);
    // Drain, change, undrain.
    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    expect(counts).toHaveLength(WORKLOADS * REPLICAS);
    await eventually('it is done', async () => (await notes('RolloutDone')).length > 0);
    const { code, stdout } = await watching;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^phase +canary$.*^phase +done$/ms)]);
    expect(await notes('RolloutStarted')).toEqual([expect.stringContaining('pods, step by step')]);
  });

  test('lose no more pods to a template that cannot work than the breaker allows', async () => {
    kubelet.mostUnready = 0;
    const before = await writes();
    await write('broken:v3');
    await eventually(
      'it is halted',
      async () => {
        kubelet.check();
        return (await notes('RolloutHalted')).length > 0;
      },
      SLOWLY,
    );
    await settled(image);
    const touched = [...(await writes())].filter(([name, count]) => count !== before.get(name));
    expect(touched.length).toBeGreaterThan(0);
    expect(touched.length).toBeLessThanOrEqual(FAILURES);
    expect(await notes('RolloutHalted')).toEqual([
      expect.stringMatching(
        /^The breaker has stopped the rollout. Failing: default\/web-\d+-\d+: ErrImagePull: broken:v3 does not exist/,
      ),
    ]);
    expect(await metric('envoy_initializer_rollout_halted')).toBe(1);
    const shown = await command('rollout', '--watch');
    expect([shown.code, shown.stdout]).toEqual([
      1,
      expect.stringMatching(
        /^phase +halted$.*^halted +The breaker .*ErrImagePull: broken:v3 does not exist.*^apply a corrected template, or the one before/ms,
      ),
    ]);
    const [stale] = JSON.parse(
      (await command('check', 'pod/web-0-0', '--namespace=default', '--output=json')).stdout,
    )[0].findings.filter(({ reason }: { reason: string }) => reason === 'stale-pod');
    expect(stale?.message).toMatch(
      /^pod web-0-0 has the template that new pods get, because the last one is not promoted: see envoy-initializer rollout$/,
    );
    expect((await command('drift', '--namespace=default')).stderr).toMatch(
      /^a rollout brings template [0-9a-f]{12} \(halted\) to running pods: envoy-initializer rollout shows/,
    );
  });

  test('get the next template, which opens the breaker again', async () => {
    await write('envoy:v4');
    await settled('envoy:v4');
    await eventually(
      'the metrics say so',
      async () => (await metric('envoy_initializer_rollout_halted')) === 0,
    );
  });

  test('are neither written nor looked at while there is nothing to do', async () => {
    const calls = async () =>
      (await operatorCalls(fixture.controlPlane.auditLogPath)).filter(
        ({ resource, verb, uri }) =>
          verb !== 'watch' &&
          !resource.startsWith('leases') &&
          !resource.startsWith('events') &&
          // A look for IPAMClaims and HTTPRoutes, whose CRDs are not here. It comes every 30 s.
          uri !== '/apis',
      );
    await eventually(
      'the last step is done',
      async () => {
        const before = (await calls()).length;
        const leases = (await renewals()) + 1;
        await eventually('the lease is renewed', async () => (await renewals()) >= leases);
        return (await calls()).length === before;
      },
      SLOWLY,
    );
    const before = await calls();
    const leases = (await renewals()) + 5;
    await eventually('the lease is renewed five times', async () => (await renewals()) >= leases);
    expect((await calls()).slice(before.length)).toEqual([]);
  });

  test('are refused where a policy denies their change, as the command line says, too, whose watch ends', async () => {
    await fixture.apply(...frozenImages('zz-frozen', "object.metadata.name.startsWith('web-')"));
    const image = JSON.stringify([{ op: 'replace', path: '/spec/containers/0/image', value: 'other' }]);
    await eventually('the policy denies', async () => {
      const args = [
        'patch',
        'pod',
        'web-0-0',
        '-n=default',
        '--type=json',
        '--dry-run=server',
        '--patch',
        image,
      ];
      return (await fixture.controlPlane.kubectl(args)).stderr.includes('images are frozen');
    });
    await write('envoy:v5');
    await eventually('it is told', async () => (await notes('RolloutRefused')).length > 0, SLOWLY);
    const { code, stdout } = await command('rollout', '--watch');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(
          `^phase +done$.* ${WORKLOADS * REPLICAS} refused$.*^default/web-.*: .*images are frozen$`,
          'ms',
        ),
      ),
    ]);
  });
});

/** What the operator does at rest. */
async function renewals(): Promise<number> {
  const calls = await operatorCalls(fixture.controlPlane.auditLogPath);
  return calls.filter(({ resource, verb }) => resource.startsWith('leases') && verb !== 'get').length;
}
