import { expect, test } from '@jest/globals';
import { ADD_ONS } from '../../../../src/addons/index.ts';
import { newRevision } from '../../../../src/addons/rollout/controller-revision.ts';
import { NO_CANARY } from '../../../../src/addons/rollout/plan/revision.ts';
import { toolsOf } from '../../../../src/cli/add-on.ts';
import { readInstallation } from '../../../../src/cli/installation.ts';
import type { StatusFacts } from '../../../../src/cli/status/facts.ts';
import { statusRows } from '../../../../src/cli/status/status-rows.ts';
import type { DriftedPod, Survey } from '../../../../src/cli/survey.ts';
import { parseTemplateConfigMap } from '../../../../src/injection/template/template-set.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { VERSION } from '../../../../src/kube/util/version.ts';
import { runCli } from '../../../../src/program.ts';
import { MemoryTerminal } from '../../../support/cli/memory-terminal.ts';
import { DEMO_TEMPLATE, templateSet } from '../../../support/injection/demo.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');

const replica = { name: 'envoy-initializer-1', ready: true, trouble: '' };

const deployment = (args: readonly string[], { replicas = 1, ready = 1 } = {}) =>
  readInstallation({
    spec: {
      replicas,
      template: { spec: { containers: [{ name: 'envoy-initializer', image: 'i:1', args: [...args] }] } },
    },
    status: { readyReplicas: ready },
  });

const lease = (holderIdentity: string, renewTime = '2026-11-01T11:59:58Z') => ({
  lease: { value: { metadata: { name: 'envoy-initializer' }, spec: { holderIdentity, renewTime } } },
});

const notFound = () => new ApiError({ status: 404, reason: 'NotFound', message: 'no' });
const withRollout = parseTemplateConfigMap({ config: DEMO_TEMPLATE, rollout: 'mode: in-place' });
const SET = 'set' in withRollout ? withRollout.set : undefined;

const PAUSED = { 'initializer.kubernetes.io/rollout-paused': 'true' };
const NO_DRIFT = {
  drifted: [],
  count: 3,
  skipped: new Map<string, number>(),
  risks: new Map<string, number>(),
  waiting: [],
};

const webhook = { name: 'a', hasBundle: true, namespace: undefined as string | undefined };
const TEMPLATE = { set: SET, faults: [] as string[], annotations: {} };
const FAULTY = { ...TEMPLATE, set: undefined, faults: ['config: line 3'] };
const HEALTHY: StatusFacts = {
  now: NOW,
  server: 'v1.36.3',
  namespace: 'envoy-initializer',
  configmap: 'envoy-initializer',
  installation: { value: deployment(['serve', '--node-agent-namespace=agents']) },
  replicas: { value: [replica] },
  ...lease('envoy-initializer-1_5b5b'),
  webhooks: {
    value: { mutating: [webhook], validating: [webhook] },
  },
  warnings: { value: new Map() },
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
  readonly revisions?: readonly object[];
}
const revisionOf = (config: string) =>
  newRevision(
    { metadata: { namespace: 'envoy-initializer', name: 'envoy-initializer' }, data: { config } },
    templateSet({ config }).hash,
    1,
    { state: 'promoted', since: 0, canary: NO_CANARY, heldSince: undefined },
  );
const SERVED: Served = { bindings: 2, httpRoutes: true, revisions: [revisionOf(DEMO_TEMPLATE)] };

async function rowsOf(facts: StatusFacts, { bindings, httpRoutes, revisions }: Served = SERVED) {
  const client = {
    async list({ plural }: { readonly plural: string }) {
      if (plural === 'controllerrevisions') return { items: revisions };
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

test('status finds nothing in a healthy installation', async () => {
  expect(await exceptions({})).toEqual({});
  expect((await rowsOf(HEALTHY)).map(({ check, detail }) => `${check}: ${detail}`)).toEqual([
    'server: Kubernetes v1.36.3',
    'replicas: 1 of 1 ready, image i:1',
    'leader: envoy-initializer-1',
    'webhooks: 2 webhooks, each with its caBundle',
    'warnings: no recent Events',
    `template: sha256 ${SET?.hash.slice(0, 12)}, the hash of all templates`,
    'policies: 2 bindings: policies inject most pods',
    'rollout: 0 pods under way',
    'routes: the API server serves HTTPRoutes',
    'networks: 1 Network, all Ready',
    'multus: the API server serves NetworkAttachmentDefinitions',
    'node agents: 2 of 2 ready',
    'waiting pods: none',
    'pods: no drift in 3 pods',
    'skipped pods: none',
  ]);
});

test('status says once that nothing is installed', async () => {
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
    'problem: no Deployment envoy-initializer in namespace envoy-initializer | use --operator-namespace, or install the operator',
    undefined,
  ]);
  expect(new Set(Object.values(others))).toEqual(new Set(['none: not installed | ']));
  expect((await exceptions({ ...change, networks: { value: [] } })).leader).toMatch(/^problem: /);
});

const unready = (name: string, trouble: string) => ({ name, ready: false, trouble });
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
  ['replicas', /^problem: no Deployment .*--operator-namespace/, { installation: { value: undefined } }],
  [
    'replicas',
    /^problem: 1 of 2 ready, image i:1 \(b: ImagePullBackOff\) \| see kubectl --namespace envoy-initializer describe pods/,
    {
      ...installed([], { replicas: 2 }),
      replicas: { value: [replica, unready('b', 'ImagePullBackOff')] },
    },
  ],
  ['replicas', /--replicas=2$/, none],
  [
    'replicas',
    /^problem: 1 of 1 ready, image i:1, but others fail \(b: CrashLoopBackOff\) \| see kubectl .* describe pods/,
    { replicas: { value: [replica, unready('b', 'CrashLoopBackOff')] } },
  ],
  [
    'replicas',
    /\| use --operator-namespace=mesh, or install/,
    {
      installation: { value: undefined },
      webhooks: { value: { mutating: [{ ...webhook, namespace: 'mesh' }], validating: undefined } },
    },
  ],
  ['leader', /^problem: no leader/, { lease: { value: undefined } }],
  ['leader', /^note: election in progress/, lease('')],
  ['leader', /^problem: no leader \| see .* in the log/, { now: NOW + 20_000, ...lease('') }],
  ['leader', /^problem: no leader \| see replicas$/, { ...none, lease: { value: undefined } }],
  ['leader', /^none: off \(/, { ...installed(['--leader-elect=false']), lease: { value: undefined } }],
  ['leader', /^problem: envoy-initializer-1, not renewed for 122 s/, { now: NOW + 120_000 }],
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
  [
    'warnings',
    /^note: recent Events \(InvalidTemplate: 2\): kubectl get events/,
    { warnings: { value: new Map([['InvalidTemplate', 2]]) } },
  ],
  ['template', /^problem: ConfigMap .* does not exist/, { template: { value: undefined } }],
  [
    'template',
    /^problem: config: line 3: pods get the last valid template, if there was one \| correct the ConfigMap/,
    { template: { value: FAULTY } },
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
    /^problem: off .*, but needed by 1 Network \| install component "networks" /,
    installed([]),
  ],
  [
    'pods',
    /^problem: 2 missed, 1 stale, of 3 pods \| envoy-initializer drift -A/,
    pods(driftedAs('missed', 'stale', 'missed')),
  ],
  [
    'rollout',
    /^note: paused, 0 pods waiting: envoy-initializer rollout resume/,
    { template: { value: { ...TEMPLATE, annotations: PAUSED } } },
  ],
  ['pods', /^note: 1 stale, of 3 pods: envoy-initializer rollout/, pods(driftedAs('stale'))],
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
])('status shows of %s: %s', async (check, expected, change) => {
  expect((await exceptions(change))[check]).toMatch(expected);
});

const NOT_BEGUN =
  /^problem: the operator has not begun it, .* \| add the component "rollout" \(docs\/install.md\)$/;

test.each<[string, Served, string, RegExp]>([
  ['an operator that may not roll out', { ...SERVED, revisions: [] }, 'rollout', NOT_BEGUN],
  [
    'an operator that may not roll out any more',
    { ...SERVED, revisions: [revisionOf('containers: [{name: envoy, image: "i:0"}]')] },
    'rollout',
    NOT_BEGUN,
  ],
  ['no HTTPRoutes', { ...SERVED, httpRoutes: false }, 'routes', /^none: /],
  [
    'an older API server',
    { ...SERVED, bindings: undefined },
    'policies',
    /^none: .*only the webhook injects pods/,
  ],
])('status reports %s', async (_, served, check, expected) => {
  expect((await exceptions({}, served))[check]).toMatch(expected);
});

async function version(...args: readonly string[]) {
  const terminal = new MemoryTerminal({});
  const code = await runCli(['node', 'envoy-initializer', 'version', ...args], terminal);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}

test.each([
  ['is nobody at its address', ['--master=https://127.0.0.1:1']],
  ['is no kubeconfig', ['--kubeconfig=/none']],
])('version prints that of the client, and an error, where there %s', async (_, args) => {
  expect(await version(...args)).toEqual({
    code: 1,
    stdout: `client: ${VERSION}\n`,
    stderr: expect.stringMatching(/^error: .*\n$/),
  });
  const { code, stdout } = await version(...args, '--output=json');
  expect({ code, printed: JSON.parse(stdout) }).toEqual({ code: 1, printed: { client: VERSION } });
});

test('version --client asks no cluster', async () => {
  const printed = { code: 0, stdout: `client: ${VERSION}\n`, stderr: '' };
  expect(await version('--client', '--kubeconfig=/none')).toEqual(printed);
});
