import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { listed, must } from '../../env/operator.ts';
import { since } from '../../support/jest/since.ts';

const AGENTS = 'envoy-initializer-node-agent';
const NOT_ITS_NODE = 'a node agent may write one ConfigMap, that of its own node';
const ONLY_OPERATOR = 'only envoy-initializer may write the status of a Network';
const ONLY_OPERATOR_REMOVES = 'only envoy-initializer may remove the finalizer of a Network';
const ONLY_PORTS = 'only envoy-initializer may write OvnPort';
const NETWORK = {
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name: 'blue', namespace: 'tenant' },
  spec: { cidr: '10.20.0.0/24', gateway: '10.20.0.1' },
};

let controlPlane: ControlPlane;
/** By what a client is: the flags that make kubectl use its token and nothing else. */
const clients = new Map<string, readonly string[]>();

const admin = async (line: string, input = '') =>
  (await must(controlPlane, line.split(' '), input)).stdout.trim();

/** Calls kubectl as the client, and returns what it was refused with; empty without a refusal. */
async function call(
  client: string,
  line: string,
  input?: object,
  ...last: readonly string[]
): Promise<string> {
  const flags = clients.get(client) ?? [];
  const { code, stderr } = await controlPlane.kubectl(
    [...line.split(' '), ...last, ...flags],
    input ? { input: JSON.stringify(input) } : {},
  );
  // `kubectl auth can-i` says its no on stdout.
  return code === 0 ? '' : stderr || 'no';
}

async function addClient(name: string, namespace: string, account: string, ...bound: readonly string[]) {
  const token = await admin(['create token', account, `-n ${namespace}`, ...bound].join(' '));
  const authority = join(controlPlane.directory, 'ca.pem');
  await writeFile(authority, controlPlane.caPem);
  clients.set(name, [
    '--kubeconfig=/dev/null',
    `--server=${controlPlane.server}`,
    `--certificate-authority=${authority}`,
    `--token=${token}`,
  ]);
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  for (const overlay of ['dev', 'node-agent']) {
    await admin(`apply -k ${join(projectDirectory(), 'deploy/overlays', overlay)}`);
  }
  const definitions = 'test/env/control-plane/network-attachment-definition-crd.yaml';
  for (const file of ['deploy/overlays/node-agent/rbac.yaml', definitions])
    await admin(`apply -f ${join(projectDirectory(), file)}`);
  await admin('wait --for=condition=Established crd --all --timeout=60s');
  const nodes = ['n1', 'n2'].map((name) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } }));
  const pods = ['n1', 'n2'].map((nodeName) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `agent-${nodeName}`, namespace: AGENTS },
    spec: { serviceAccountName: AGENTS, nodeName, containers: [{ name: 'agent', image: 'agent' }] },
  }));
  await admin('apply -f -', listed([...nodes, ...pods]));
  await admin('create namespace tenant');
  await admin('create serviceaccount tenant -n tenant');
  await admin(
    'create rolebinding tenant -n tenant --clusterrole=envoy-initializer-network-tenant --serviceaccount=tenant:tenant',
  );
  await admin('create clusterrole all-of-networks --verb=* --resource=*.samplecrd.k8s.io');
  await admin('create clusterrolebinding all --clusterrole=all-of-networks --serviceaccount=tenant:all');
  await admin('create serviceaccount all -n tenant');
  // A Role of everything in the namespace, for an account that is called as that of the operator.
  await admin('create role everything -n tenant --verb=* --resource=*.*');
  await admin(
    'create rolebinding namesake -n tenant --role=everything --serviceaccount=tenant:envoy-initializer',
  );
  await admin('create serviceaccount envoy-initializer -n tenant');
  await addClient('agent of n1', AGENTS, AGENTS, '--bound-object-kind=Pod', '--bound-object-name=agent-n1');
  await addClient('token of no pod', AGENTS, AGENTS);
  await addClient('tenant', 'tenant', 'tenant');
  await addClient('all of Networks', 'tenant', 'all');
  await addClient('namesake', 'tenant', 'envoy-initializer');
  await addClient('operator', 'envoy-initializer', 'envoy-initializer');
  await admin('apply -f -', JSON.stringify(NETWORK));
  await eventually('the policies are up', async () => {
    const [report, status] = await Promise.all([
      call('token of no pod', 'create -f - --dry-run=server', reportOf('probe')),
      call(
        'all of Networks',
        'patch network blue -n tenant --subresource=status --type=merge -p {"status":{"vni":9000000}} --dry-run=server',
      ),
    ]);
    return report.includes(NOT_ITS_NODE) && status.includes(ONLY_OPERATOR);
  });
}, 600_000);

afterAll(() => controlPlane?.stop());

const reportOf = (name: string, namespace = AGENTS) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { report: '{}' },
});
const APPLY = 'apply --server-side --force-conflicts -f -';

test('the agent of a node writes the report of its node, by apply where there is none, and again', async () => {
  expect(await call('agent of n1', APPLY, reportOf('n1'))).toBe('');
  expect(await call('agent of n1', APPLY, { ...reportOf('n1'), data: { report: '{"version":2}' } })).toBe('');
});

test.each([
  ['creates the report of another node', 'create -f -', reportOf('n2')],
  ['applies the report of another node', APPLY, reportOf('n2')],
  ['creates another ConfigMap', 'create -f -', reportOf('mine')],
  [
    'lets the API server choose a name',
    'create -f -',
    { ...reportOf(''), metadata: { generateName: 'n1', namespace: AGENTS } },
  ],
  ['deletes that of another node', `delete configmap theirs -n ${AGENTS}`, undefined],
])('the agent of a node is refused where it %s', async (_, line, input) => {
  await admin('apply -f -', JSON.stringify(reportOf('theirs')));
  expect(await call('agent of n1', line, input)).toContain(NOT_ITS_NODE);
});

test('the agent of a node has no right to Nodes, pods, definitions, or the status of Networks', async () => {
  for (const what of [
    'list nodes',
    'list pods',
    'list configmaps',
    'create net-attach-def',
    'patch networks --subresource=status',
  ]) {
    expect(await call('agent of n1', `auth can-i ${what} -A`)).toBe('no');
  }
  expect(await call('agent of n1', 'create -f -', reportOf('n1', 'tenant'))).toContain('forbidden');
});

describe('with all rights by RBAC', () => {
  beforeAll(async () => {
    await admin(
      `create clusterrolebinding thief --clusterrole=cluster-admin --serviceaccount=${AGENTS}:${AGENTS}`,
    );
    await eventually('RBAC allows it', async () => {
      return (await call('agent of n1', 'auth can-i create secrets -n tenant')) === '';
    });
  });
  afterAll(() => admin('delete clusterrolebinding thief'));

  const named = (kind: string) => ({ apiVersion: 'v1', kind, metadata: { name: 'n1', namespace: AGENTS } });
  test.each([
    ['its ConfigMap in another namespace', 'create -f -', reportOf('n1', 'tenant')],
    ['a Secret of the name of its node', 'create -f -', named('Secret')],
    ['an account of the name of its node', 'create -f -', named('ServiceAccount')],
    ['its Node', 'label node n1 a=b', undefined],
    ['a Network', 'patch network blue -n tenant --type=merge -p {"spec":{"mtu":1400}}', undefined],
    ['all reports', `delete --raw /api/v1/namespaces/${AGENTS}/configmaps`, undefined],
  ])(
    'the agent of a node is refused, even with all rights by RBAC, where it writes %s',
    async (_, line, input) => {
      expect(await call('agent of n1', line, input)).toContain(NOT_ITS_NODE);
    },
  );
});

test('a token of the agents’ account that no pod has writes nothing', async () => {
  expect(await call('token of no pod', APPLY, reportOf('n1'))).toContain(NOT_ITS_NODE);
});

const { spec: _, ...blue } = NETWORK;
const write = (client: string) =>
  call(client, `${APPLY} --subresource=status`, { ...blue, status: { vni: 9_000_000 } });

// kubectl apply has --subresource since 1.32.
since(32).test(
  'the status of a Network is written by the operator alone, also where a role allows all (since 1.32)',
  async () => {
    expect(await write('all of Networks')).toContain(ONLY_OPERATOR);
    expect(await write('namesake')).toContain(ONLY_OPERATOR);
    expect(await write('operator')).toBe('');
  },
);

test('the status of a Network is written by an operator that an administrator runs outside of the cluster', async () => {
  const status = ['patch network blue -n tenant --subresource=status --type=merge'];
  await admin([...status, '-p {"status":{"vni":9000001}}'].join(' '));
  expect(await admin('get network blue -n tenant -o jsonpath={.status.vni}')).toBe('9000001');
});

since(32).test(
  'the status of a Network is nothing that a tenant has the right to write (since 1.32)',
  async () => {
    expect(await write('tenant')).toContain('cannot patch resource "networks/status"');
  },
);

test('the finalizer of a Network is removed by the operator alone, and that of another by its tenant', async () => {
  const [ours, theirs] = ['samplecrd.k8s.io/network-cleanup', 'example.org/theirs'];
  const metadata = { name: 'kept', namespace: 'tenant', finalizers: [theirs, ours] };
  expect(await call('tenant', 'create -f -', { ...NETWORK, metadata })).toBe('');
  const leave = (client: string, ...finalizers: readonly string[]) => {
    const patch = JSON.stringify({ metadata: { finalizers } });
    return call(client, `patch network kept -n tenant --type=merge -p ${patch}`);
  };
  expect(await call('tenant', 'delete network kept -n tenant --wait=false')).toBe('');
  for (const client of ['tenant', 'all of Networks', 'namesake'])
    expect(await leave(client)).toContain(ONLY_OPERATOR_REMOVES);
  expect(await leave('tenant', ours)).toBe('');
  expect(await leave('operator')).toBe('');
  expect(await admin('get networks -n tenant -o name')).not.toContain('kept');
});

describe('ports in Neutron', () => {
  const MULTUS = 'k8s.v1.cni.cncf.io/networks';
  const named = (key: string) => `[{"name": "blue", "cni-args": {"${key}": "7c0e6a4e-port-of-another"}}]`;
  const pod = (name: string, annotations: object) => ({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name, namespace: 'tenant', annotations },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  });
  const annotate = (client: string, text: string, ...flags: readonly string[]) => {
    const patch = JSON.stringify({ metadata: { annotations: { [MULTUS]: text } } });
    return call(
      client,
      ['patch pod blue -n tenant --type=merge', ...flags, '-p'].join(' '),
      undefined,
      patch,
    );
  };

  beforeAll(async () => {
    await admin('create serviceaccount default -n tenant').catch(() => {});
    expect(await call('namesake', 'create -f -', pod('blue', { [MULTUS]: '[{"name": "blue"}]' }))).toBe('');
    await eventually('the policy is up', async () =>
      (
        await call('namesake', 'create -f - --dry-run=server', pod('probe', { [MULTUS]: named('OvnPort') }))
      ).includes(ONLY_PORTS),
    );
  });

  test.each([
    ['in Multus’ annotation', MULTUS, 'OvnPort'],
    ['in other letters', MULTUS, 'ovnPORT'],
    ['as an escape of JSON', MULTUS, '\\u004fvnPort'],
    ['on the first interface', 'v1.multus-cni.io/default-network', 'OvnPort'],
  ])('the port of a pod in Neutron is not named by the author of the pod %s', async (_, annotation, key) => {
    expect(await call('namesake', 'create -f -', pod('thief', { [annotation]: named(key) }))).toContain(
      ONLY_PORTS,
    );
  });

  test.each([
    '"mac": "02:6E:77:00:00:01"',
    '"mac": "026e.7700.0001"',
    '"cni-args": {"MAC": "02-6e-77-00-00-01"}',
    '"mac": "\\u00302:6e:77:00:00:01"',
  ])('the gateway of a pod in Neutron is not named by the author of the pod, by %s', async (option) => {
    const text = `[{"name": "blue", ${option}}]`;
    expect(await call('namesake', 'create -f -', pod('thief', { [MULTUS]: text }))).toContain(ONLY_PORTS);
    expect(await annotate('namesake', text)).toContain(ONLY_PORTS);
  });

  test('a MAC with the same digits as a port in Neutron is named by the author of a pod', async () => {
    const text = '[{"name": "blue", "ips": ["fd00:1002:6e:77::1/64"]}]';
    expect(await call('namesake', 'create -f - --dry-run=server', pod('honest', { [MULTUS]: text }))).toBe(
      '',
    );
  });

  test('the port of a pod in Neutron is not named by a change of the pod, of its status, or by its binding', async () => {
    expect(await annotate('namesake', named('OvnPort'))).toContain(ONLY_PORTS);
    expect(await annotate('namesake', named('OvnPort'), '--subresource=status')).toContain(ONLY_PORTS);
    const binding = {
      ...{ apiVersion: 'v1', kind: 'Binding' },
      metadata: { name: 'blue', namespace: 'tenant', annotations: { [MULTUS]: named('OvnPort') } },
      target: { kind: 'Node', name: 'n1' },
    };
    const path = 'create --raw /api/v1/namespaces/tenant/pods/blue/binding -f -';
    expect(await call('namesake', path, binding)).toContain(ONLY_PORTS);
  });

  test('the port of a pod in Neutron is written by the operator, and stays while others change the pod', async () => {
    expect(await annotate('operator', named('OvnPort'))).toBe('');
    expect(await call('namesake', 'label pod blue -n tenant a=b')).toBe('');
    expect(await annotate('namesake', named('OvnPort').replace('7c0e', '8d1f'))).toContain(ONLY_PORTS);
  });
});

test('an account of the operator’s name without its right is not fenced', async () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any', namespace: 'tenant' } };
  expect(await call('namesake', 'create -f -', object)).toBe('');
  const elsewhere = { ...object, metadata: { name: 'any', namespace: 'envoy-initializer' } };
  expect(await call('operator', 'create -f -', elsewhere)).toContain('envoy-initializer-fence');
});

test('a tenant makes, changes and deletes Networks of its namespace', async () => {
  const own = { ...NETWORK, metadata: { name: 'own', namespace: 'tenant' } };
  expect(await call('tenant', 'create -f -', own)).toBe('');
  expect(await call('tenant', 'patch network own -n tenant --type=merge -p {"spec":{"mtu":1400}}')).toBe('');
  expect(await call('tenant', 'delete network own -n tenant --wait=false')).toBe('');
});

test.each([
  'create net-attach-def -n tenant',
  'create networks -n default',
  'list networks -n default',
  'deletecollection networks -n tenant',
  'patch networks --subresource=finalizers -n tenant',
  'get networks --subresource=status -n tenant',
  'get pods -n tenant',
  'get configmaps -n tenant',
  'get configmaps -n envoy-initializer-node-agent',
])('a tenant may not %s', async (what) => {
  // kubectl warns on stderr of a kind that it does not find.
  expect(await call('tenant', `auth can-i ${what}`)).toBe('no');
});

// A right to what is no kind: kubectl cannot ask for it.
test.each([
  ['envoy-initializer:envoy-initializer', 'true'],
  ['tenant:tenant', 'false'],
  ['tenant:envoy-initializer', 'false'],
])('the right to operate Networks is the operator’s alone: %s %s', async (account, allowed) => {
  const resourceAttributes = { group: 'operator.samplecrd.k8s.io', resource: 'networks', verb: 'operate' };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: `system:serviceaccount:${account}`, resourceAttributes },
  };
  expect(await admin('create -f - -o jsonpath={.status.allowed}', JSON.stringify(review))).toBe(allowed);
});

test('no role of Kubernetes has the Networks of tenants by aggregation', async () => {
  const roles = await Promise.all(
    ['admin', 'edit', 'view'].map((role) => admin(`get clusterrole ${role} -o yaml`)),
  );
  expect(roles.filter((role) => role.includes('samplecrd.k8s.io'))).toEqual([]);
});
