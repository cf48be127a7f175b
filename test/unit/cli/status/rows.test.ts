import { describe, expect, test } from '@jest/globals';
import { ADD_ONS } from '../../../../src/addons/index.ts';
import { toolsOf } from '../../../../src/cli/add-on.ts';
import { readInstallation } from '../../../../src/cli/installation.ts';
import type { ReplicaFacts, StatusFacts } from '../../../../src/cli/status/facts.ts';
import { Samples } from '../../../../src/cli/status/samples.ts';
import { statusRows } from '../../../../src/cli/status/status.ts';
import type { DriftedPod, Survey } from '../../../../src/cli/survey.ts';
import { parseTemplateSet } from '../../../../src/injection/template/template-set.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { DEMO_TEMPLATE } from '../../../support/injection/demo.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
const SECONDS = NOW / 1000;

const METRICS = [
  'envoy_initializer_build_info{version="0.0.1"} 1',
  'envoy_initializer_template_current 1',
  `envoy_initializer_certificate_expiration_timestamp_seconds{certificate="serving"} ${SECONDS + 90 * 86_400}`,
  'envoy_initializer_ca_bundle_in_sync 1',
  `envoy_initializer_controller_heartbeat_timestamp_seconds{controller="network"} ${SECONDS - 5}`,
  'envoy_initializer_routes_sidecars_behind 0',
  'envoy_initializer_rollout_halted 0',
];

const replica = (change: Partial<ReplicaFacts> = {}, more: readonly string[] = []): ReplicaFacts => ({
  name: 'envoy-initializer-1',
  ready: true,
  trouble: '',
  metrics: { value: new Samples([...METRICS, ...more].join('\n')) },
  notReady: [],
  failing: { value: [] },
  templateHash: { value: 'a'.repeat(64) },
  ...change,
});

const deployment = (args: readonly string[], { replicas = 1, ready = 1 } = {}) =>
  readInstallation({
    spec: {
      replicas,
      template: { spec: { containers: [{ name: 'envoy-initializer', image: 'i:1', args: [...args] }] } },
    },
    status: { readyReplicas: ready },
  });

const LEASE = {
  holder: 'envoy-initializer-1_5b5b',
  durationSeconds: 15,
  renewTime: '2026-11-01T11:59:58Z',
};

const notFound = () => new ApiError({ status: 404, reason: 'NotFound', message: 'no' });
const withRollout = parseTemplateSet({ config: DEMO_TEMPLATE, rollout: 'mode: in-place' });
const ROLLOUT = 'set' in withRollout ? withRollout.set.rollout : undefined;

const PAUSED = { 'initializer.kubernetes.io/rollout-paused': 'true' };
const NO_DRIFT = {
  drifted: [],
  count: 3,
  skipped: new Map<string, number>(),
  risks: new Map<string, number>(),
  waiting: [],
};

const webhook = { name: 'a', hasBundle: true, namespace: undefined as string | undefined };
const TEMPLATE = {
  hash: 'a'.repeat(64) as string | undefined,
  faults: [] as string[],
  rollout: ROLLOUT,
  annotations: {},
};
const FAULTY = { ...TEMPLATE, hash: undefined, faults: ['config: line 3'] };
const HEALTHY: StatusFacts = {
  now: NOW,
  client: '0.0.1',
  server: 'v1.36.3',
  namespace: 'envoy-initializer',
  configmap: 'envoy-initializer',
  installation: { value: deployment(['serve', '--node-agent-namespace=agents']) },
  replicas: { value: [replica()] },
  lease: { value: LEASE },
  webhooks: {
    value: { mutating: [webhook], validating: [webhook] },
  },
  template: { value: TEMPLATE },
  hasAttachments: { value: true },
  nodeAgents: { value: { wanted: 2, ready: 2 } },
  networks: { value: [{ key: 'shop/net', reason: undefined, provider: 'multus' }] },
  pods: { value: NO_DRIFT },
};

/** What the API server has for add-ons. */
interface Served {
  /** Of the operator's policies; undefined before Kubernetes 1.36. */
  readonly bindings?: number | undefined;
  readonly httpRoutes?: boolean;
}
const SERVED: Served = { bindings: 2, httpRoutes: true };

async function rowsOf(facts: StatusFacts, { bindings, httpRoutes }: Served = SERVED) {
  const client = {
    async list() {
      if (bindings === undefined) throw notFound();
      return { items: Array(bindings) };
    },
    async request() {
      return { resources: httpRoutes ? [{ name: 'httproutes' }] : [] };
    },
  } as unknown as KubeClient;
  const ofAddOns = (await toolsOf(ADD_ONS)).map(({ status }) => status?.(client, facts) ?? []);
  return statusRows(facts, (await Promise.all(ofAddOns)).flat());
}

/** The rows that are not `ok`, by their check. */
async function exceptions(
  change: Partial<StatusFacts>,
  served?: Served,
): Promise<Readonly<Record<string, string>>> {
  const rows = (await rowsOf({ ...HEALTHY, ...change }, served)).filter(({ state }) => state !== 'ok');
  return Object.fromEntries(
    rows.map(({ check, state, detail, advice = '' }) => [check, `${state}: ${detail} | ${advice}`]),
  );
}

const drifted = { namespace: 'a', name: 'b', controller: '', created: '', node: '' };

describe('status', () => {
  test('finds nothing in a healthy installation', async () => {
    expect(await exceptions({})).toEqual({});
    expect((await rowsOf(HEALTHY)).map(({ check, detail }) => `${check}: ${detail}`)).toEqual([
      'server: Kubernetes v1.36.3',
      'version: 0.0.1; this command is 0.0.1',
      'replicas: 1 of 1 ready',
      'leader: envoy-initializer-1',
      'reconciles: none was needed',
      'certificate: ends at 2027-01-30T12:00:00.000Z',
      'webhooks: 2 webhooks, each with its caBundle',
      'template: sha256 aaaaaaaaaaaa, the hash of all templates',
      'policies: 2 bindings: policies inject most pods',
      'rollout: 0 pods under way',
      'routes: all sidecars have the current routes',
      'networks: 1 Network, all Ready',
      'multus: the API server has NetworkAttachmentDefinitions',
      'node agents: 2 of 2 ready',
      'waiting pods: none',
      'pods: no drift in 3 pods',
      'skipped pods: none',
    ]);
  });

  test('knows replicas without a certificate from those without metrics', async () => {
    const metrics = {
      value: new Samples(METRICS.filter((line) => !/heartbeat|expiration/.test(line)).join('\n')),
    };
    expect(await exceptions({ replicas: { value: [replica({ metrics })] } })).toEqual({
      certificate: 'unknown: no replica has a certificate yet | ',
    });
    expect(
      await exceptions({ replicas: { value: [replica({ metrics: { unreadable: 'why' } })] } }),
    ).toMatchObject({
      reconciles: 'unknown: no replica shows its metrics: why | ',
      certificate: 'unknown: no replica shows its metrics: why | ',
    });
  });

  test('says once that nothing is installed', async () => {
    const change = {
      installation: { value: undefined },
      replicas: { value: [] },
      lease: { value: undefined },
      webhooks: { value: { mutating: undefined, validating: undefined } },
      template: { value: undefined },
      networks: { value: undefined },
    };
    const { server, replicas, multus, ...others } = await exceptions(change);
    expect([server, replicas, multus]).toEqual([
      undefined,
      'problem: no Deployment envoy-initializer in namespace envoy-initializer | name its namespace with --operator-namespace, or install the operator',
      undefined,
    ]);
    expect(new Set(Object.values(others))).toEqual(new Set(['none: not installed | ']));
    expect((await exceptions({ ...change, networks: { value: [] } })).leader).toMatch(/^problem: /);
  });

  const withMetrics = (...lines: readonly string[]) => ({ replicas: { value: [replica({}, lines)] } });
  const unready = (name: string, trouble: string, notReady: readonly string[] = []) =>
    replica({ name, ready: false, trouble, notReady });
  const installed = (...counts: Parameters<typeof deployment>) => ({
    installation: { value: deployment(...counts) },
  });
  const none = installed([], { replicas: 0, ready: 0 });
  const pods = (change: Partial<Survey>) => ({ pods: { value: { ...NO_DRIFT, ...change } } });
  const driftedAs = (...states: readonly DriftedPod['sidecar'][]) => ({
    drifted: states.map((sidecar) => ({ ...drifted, sidecar })),
  });
  const created = (key: string, time: string) => ({ key, created: `2026-11-01T${time}Z` });

  test.each<[string, RegExp, Partial<StatusFacts>]>([
    ['server', /^problem: Kubernetes v1.28.1 \| upgrade/, { server: 'v1.28.1' }],
    ['version', /^problem: 0.0.1, 0.0.2;/, withMetrics('envoy_initializer_build_info{version="0.0.2"} 1')],
    ['replicas', /^problem: no Deployment .*--operator-namespace/, { installation: { value: undefined } }],
    [
      'replicas',
      /^problem: 1 of 2 ready \(b: ImagePullBackOff\) \| see kubectl --namespace envoy-initializer describe pods/,
      {
        ...installed([], { replicas: 2 }),
        replicas: { value: [replica(), unready('b', 'ImagePullBackOff')] },
      },
    ],
    [
      'replicas',
      /^problem: 0 of 1 ready \(a: template failed: not synced\)/,
      {
        ...installed([], { ready: 0 }),
        replicas: { value: [unready('a', '', ['template failed: not synced'])] },
      },
    ],
    ['replicas', /--replicas=2$/, none],
    [
      'replicas',
      /^problem: 1 of 1 ready, but others fail \(b: CrashLoopBackOff\) \| see kubectl .* describe pods/,
      { replicas: { value: [replica(), unready('b', 'CrashLoopBackOff')] } },
    ],
    [
      'replicas',
      /\| name its namespace with --operator-namespace=mesh, or install/,
      {
        installation: { value: undefined },
        webhooks: { value: { mutating: [{ ...webhook, namespace: 'mesh' }], validating: undefined } },
      },
    ],
    ['leader', /^problem: no replica leads/, { lease: { value: undefined } }],
    ['leader', /^note: none right now/, { lease: { value: { ...LEASE, holder: '' } } }],
    [
      'leader',
      /^problem: no replica leads \| read the log/,
      { now: NOW + 20_000, lease: { value: { ...LEASE, holder: '' } } },
    ],
    ['leader', /^problem: no replica leads \| see replicas$/, { ...none, lease: { value: undefined } }],
    ['leader', /^problem: envoy-initializer-1, not renewed for 122 s/, { now: NOW + 120_000 }],
    ['reconciles', /^problem: controller stalled: no heartbeat for 305 s/, { now: NOW + 300_000 }],
    [
      'reconciles',
      /^problem: reconciles fail: network a\/b: refused/,
      { replicas: { value: [replica({ failing: { value: ['network a/b: refused'] } })] } },
    ],
    [
      'reconciles',
      /^unknown: no replica shows what fails: no port-forward/,
      { replicas: { value: [replica({ failing: { unreadable: 'no port-forward' } })] } },
    ],
    [
      'certificate',
      /^problem: ends at 2026-11-02/,
      withMetrics(`envoy_initializer_certificate_expiration_timestamp_seconds{} ${SECONDS + 86_400}`),
    ],
    [
      'webhooks',
      /^problem: no MutatingWebhookConfiguration \|/,
      { webhooks: { value: { mutating: undefined, validating: [] } } },
    ],
    [
      'webhooks',
      /^problem: no caBundle: a/,
      { webhooks: { value: { mutating: [{ ...webhook, hasBundle: false }], validating: [] } } },
    ],
    ['template', /^problem: ConfigMap .* does not exist/, { template: { value: undefined } }],
    [
      'template',
      /^problem: config: line 3: pods get the last valid template, sha256 aaaaaaaaaaaa \|.*lint --server/,
      { template: { value: FAULTY } },
    ],
    [
      'template',
      /^problem: config: line 3: no replica has a valid template \|.*lint --server/,
      { template: { value: FAULTY }, replicas: { value: [replica({ templateHash: { value: undefined } })] } },
    ],
    [
      'template',
      /^problem: new pods still get the last valid template/,
      { template: { value: { ...TEMPLATE, hash: 'b'.repeat(64) } } },
    ],
    [
      'networks',
      /^problem: 1 of 1 Network with a problem \(shop\/net: Overlap\) \| envoy-initializer check network\/net --namespace shop$/,
      { networks: { value: [{ key: 'shop/net', reason: 'Overlap', provider: 'multus' }] } },
    ],
    ['multus', /^problem: not installed, but needed by 1 Network/, { hasAttachments: { value: false } }],
    [
      'node agents',
      /^problem: 1 of 2 ready \| see kubectl --namespace agents get pods/,
      { nodeAgents: { value: { wanted: 2, ready: 1 } } },
    ],
    [
      'node agents',
      /^problem: off .*, but needed by 1 Network \| apply deploy\/overlays\/networks$/,
      installed([]),
    ],
    [
      'pods',
      /^problem: 2 missed, 1 stale, of 3 pods \| envoy-initializer drift -A/,
      pods(driftedAs('missed', 'stale', 'missed')),
    ],
    [
      'rollout',
      /^note: paused, 3 pods waiting: envoy-initializer rollout resume/,
      {
        template: { value: { ...TEMPLATE, annotations: PAUSED } },
        ...withMetrics('envoy_initializer_rollout_pods{state="waiting"} 3'),
      },
    ],
    [
      'pods',
      /^note: 1 stale, of 3 pods: a rollout is in progress/,
      { ...pods(driftedAs('stale')), ...withMetrics('envoy_initializer_rollout_pods{state="waiting"} 1') },
    ],
    [
      'waiting pods',
      /^problem: 1 pod waiting for Networks \(shop\/a\) \| envoy-initializer check pod\/a --namespace shop$/,
      pods({ waiting: [created('shop/a', '11:00:00'), created('shop/b', '11:59:59')] }),
    ],
    [
      'skipped pods',
      /^problem: .*\(conflict: 2\) \| envoy-initializer check -A/,
      pods({ skipped: new Map([['conflict', 2]]) }),
    ],
    ['pods', /^unknown: you may not \| $/, { pods: { unreadable: 'you may not' } }],
    ['routes', /^none: off/, installed(['--policy=off', '--routes=off'])],
  ])('%s: %s', async (check, expected, change) => {
    expect((await exceptions(change))[check]).toMatch(expected);
  });

  test.each<[string, Served, string, RegExp]>([
    ['no HTTPRoutes', { ...SERVED, httpRoutes: false }, 'routes', /^none: /],
    [
      'an older API server',
      { ...SERVED, bindings: undefined },
      'policies',
      /^none: .*the webhook injects all pods/,
    ],
  ])('reports %s', async (_, served, check, expected) => {
    expect((await exceptions({}, served))[check]).toMatch(expected);
  });

  test.each([
    ['envoy_initializer_template_current 0', 'template', /^problem: the API server refuses pods/],
    ['envoy_initializer_rollout_halted 1', 'rollout', /^problem: the breaker/],
    ['envoy_initializer_routes_sidecars_behind 2', 'routes', /^problem: 2 sidecars with older routes/],
    ['envoy_initializer_ca_bundle_in_sync 0', 'webhooks', /^problem: a caBundle/],
    [
      'envoy_initializer_dependency_present{kind="Service",name="envoy-initializer"} 0',
      'webhooks',
      /^problem: missing: Service envoy-initializer/,
    ],
  ])('reads %s from the metrics of a replica', async (line, check, expected) => {
    const text = [...METRICS.filter((each) => each.split(/[ {]/)[0] !== line.split(' ')[0]), line].join('\n');
    const replicas = { value: [replica({ metrics: { value: new Samples(text) } })] };
    expect((await exceptions({ replicas }))[check]).toMatch(expected);
  });
});

test('samples have the labels and values of the text format', () => {
  const samples = new Samples('# HELP a b\na{x="1",y="q\\"{}"} 2\na{x="2"} 3e2\nb 4\nnot a sample\n');
  expect(samples.of('a')).toEqual([
    { labels: { x: '1', y: 'q\\"{}' }, value: 2 },
    { labels: { x: '2' }, value: 300 },
  ]);
  expect([samples.value('b'), samples.value('a', ['x', '2']), samples.value('c')]).toEqual([
    4,
    300,
    undefined,
  ]);
});
