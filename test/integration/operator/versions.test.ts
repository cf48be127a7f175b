import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { chosenKubernetes } from '../../env/control-plane/kubernetes.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import { OPT_IN } from '../../support/injection/demo.ts';
import { MINOR as minor } from '../../support/jest/since.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

jest.setTimeout(120_000);

/**
 * What the operator does with the Kubernetes of `KUBERNETES`, such as 1.31. `make versions` runs it with each version
 * and writes docs/install.md. Titles are rows of the table there.
 */
const kubernetes = chosenKubernetes(process.env);
const ACCOUNT = `system:serviceaccount:${OPERATOR_NAMESPACE}:envoy-initializer`;
const asOperator = [`--as=${ACCOUNT}`, '--as-group=system:masters'];

let fixture: OperatorFixture;
const kubectl = (line: string) => fixture.kubectl(...line.split(' '));
const path = (file: string) => join(projectDirectory(), file);

/** A test whose title is a row of the table, and which holds from this minor version on. */
function row(
  title: string,
  { since = 0 }: { readonly since?: number },
  run: (holds: boolean) => Promise<void>,
) {
  test(title, async () => {
    await run(minor >= since);
    const file = process.env.VERSIONS_RESULTS;
    const result = { version: kubernetes.version, title, holds: minor >= since };
    if (file) await appendFile(file, `${JSON.stringify(result)}\n`);
  });
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
}
const logged = async (): Promise<readonly LogLine[]> =>
  (await readFile(fixture.logFile, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** A user who may write all that the policies hold, but not operate Networks, as an administrator may. */
const asEditor = ['--as=editor'];

beforeAll(async () => {
  fixture = await startOperatorFixture({ ownCertificates: true, args: ['--policy=auto'] });
  const resources = 'networks.samplecrd.k8s.io,networks.samplecrd.k8s.io/status,pods';
  await kubectl(`create clusterrole editor --verb=get,patch --resource=${resources}`);
  await kubectl('create clusterrolebinding editor --clusterrole=editor --user=editor');
}, 600_000);

afterAll(() => fixture?.stop());

/** The names of the pod's containers; or the refusal. */
async function admitted(namespace: string, labels: object, spec: object = {}, flags: readonly string[] = []) {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'pod-', namespace, labels },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  };
  const { code, stdout, stderr } = await fixture.controlPlane.kubectl(
    ['create', '-o', 'json', '-f', '-', ...flags],
    { input: JSON.stringify(pod) },
  );
  if (code !== 0) return stderr;
  const { initContainers = [], containers } = JSON.parse(stdout).spec;
  const names = (list: readonly { name: string; restartPolicy?: string }[]) =>
    list.map(({ name, restartPolicy }) => (restartPolicy ? `${name} (${restartPolicy})` : name));
  return [...names(initContainers), ...names(containers)];
}

async function refusal(...args: readonly string[]): Promise<string> {
  const { stderr } = await fixture.controlPlane.kubectl(args);
  return stderr;
}

row('the operator starts without a warning', {}, async () => {
  const lines = await logged();
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'connected to the API server', version: kubernetes.version }),
  );
  expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  await eventually('all caches are synced, for which there is an alert', async () => {
    const metrics = await fixture.metrics();
    const caches = [...metrics.matchAll(/^envoy_initializer_cache_synced\{resource="(.*)"\} (\d)$/gm)];
    const missing = caches.filter(([, , synced]) => synced !== '1').map(([, resource]) => resource);
    if (missing.length > 0) throw new Error(`not synced: ${missing.join(', ')}`);
    return caches.length > 0;
  });
});

row('pods get their sidecar', {}, async () => {
  expect(await admitted('default', { [OPT_IN]: 'true' })).toEqual(['app', 'envoy']);
  expect(await admitted('default', {})).toEqual(['app']);
});

row('pods that finish get a native sidecar', {}, async () => {
  expect(await admitted('default', { [OPT_IN]: 'true' }, { restartPolicy: 'Never' })).toEqual([
    'envoy (Always)',
    'app',
  ]);
});

row('a bad template is refused', {}, async () => {
  const patch = JSON.stringify({ data: { config: 'containers: [{name: a, imag: b}]' } });
  const target = ['configmap', 'envoy-initializer', `--namespace=${OPERATOR_NAMESPACE}`];
  expect(await refusal('patch', ...target, '--type=merge', `--patch=${patch}`)).toContain(
    'did you mean image?',
  );
});

// Our schema is that of the newest version. The API server refuses fields that it does not know.
test('templates may use the fields of this version, and no newer ones', async () => {
  const config = 'containers: [{name: envoy, image: a:1}]\nvolumes:\n- {name: run, emptyDir: {mode: 448}}\n';
  const patch = JSON.stringify({ data: { config } });
  const target = ['configmap', 'envoy-initializer', `--namespace=${OPERATOR_NAMESPACE}`];
  const answer = await refusal('patch', ...target, '--type=merge', `--patch=${patch}`, '--dry-run=server');
  const says = 'the API server refuses a pod with this template: spec.volumes[name=run].emptyDir.mode';
  if (minor >= 37) expect(answer).not.toContain('refuses a pod');
  else expect(answer).toContain(`${says}: Kubernetes ${kubernetes.version} does not have this field`);
});

row('a misplaced opt-in is warned of', {}, async () => {
  await eventually('the policy warns', async () => {
    const { stderr } = await fixture.controlPlane.kubectl(['apply', '--dry-run=server', '-f', '-'], {
      input: JSON.stringify({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'habit', annotations: { [OPT_IN]: 'true' } },
        spec: {
          selector: { matchLabels: { app: 'habit' } },
          template: {
            metadata: { labels: { app: 'habit' } },
            spec: { containers: [{ name: 'app', image: 'busybox' }] },
          },
        },
      }),
    });
    return stderr.includes('of the Deployment itself, which its pods do not inherit');
  });
});

row('pods wait for their Networks and get addresses', {}, async () => {
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'asks', annotations: { 'samplecrd.k8s.io/network': 'blue' } },
    spec: { containers: [{ name: 'app', image: 'busybox' }] },
  });
  expect(await kubectl('get pod asks -o jsonpath={.spec.schedulingGates[*].name}')).not.toBe('');
  await fixture.apply({
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name: 'blue' },
    spec: { cidr: '10.20.0.0/24', gateway: '10.20.0.1' },
  });
  await kubectl('wait network/blue --for=condition=Ready --timeout=30s');
  await eventually('its gate is lifted', async () => {
    const pod = await kubectl('get pod asks -o json');
    return !pod.includes('"schedulingGates"') && pod.includes('10.20.0.');
  });
});

row('a bad Network is refused', {}, async () => {
  expect(await refusal('apply', '-f', path('deploy/examples/bad-network.yaml'))).toMatch(
    /spec\.gateway.*must be inside spec\.cidr/,
  );
});

row('only the operator writes the status of Networks', {}, async () => {
  const write = [
    'network',
    'blue',
    '--subresource=status',
    '--type=merge',
    '--patch={"status":{"conditions":[]}}',
    ...asEditor,
  ];
  expect(await refusal('patch', ...write, '--dry-run=server')).toContain(
    'only envoy-initializer may write the status of a Network',
  );
});

row('only the operator changes addresses of pods', {}, async () => {
  const change = ['pod', 'asks', 'k8s.v1.cni.cncf.io/networks=other', '--overwrite', '--dry-run=server'];
  expect(await refusal('annotate', ...change, ...asEditor)).toContain('only the operator may change it');
});

row('the fence refuses what the operator does not need', {}, async () => {
  expect(await refusal('create', 'namespace', 'stolen', '--dry-run=server', ...asOperator)).toContain(
    'the account of envoy-initializer may not CREATE namespaces',
  );
});

row('HTTPRoutes reach sidecars', {}, async () => {
  await kubectl(`apply --server-side -k ${await httpRouteCrds()}`);
  await kubectl(`apply --server-side --force-conflicts -k ${path('deploy/transparent')}`);
  const annotations = { 'initializer.kubernetes.io/envoy-templates': 'transparent' };
  await fixture.namespace('clients', { [OPT_IN]: 'true' }, annotations);
  await eventually('a pod has the template', async () => {
    await admitted('clients', {});
    return (await kubectl('get pods --namespace=clients -o yaml')).includes('envoy-routes');
  });
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
  });
  const matches = [{ path: { type: 'PathPrefix', value: '/first' } }];
  await fixture.apply({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'web' },
    spec: {
      parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
      rules: [{ matches, backendRefs: [{ name: 'web', port: 80 }] }],
    },
  });
  await eventually('the route is in the file', async () =>
    (await kubectl('get configmap envoy-routes --namespace=clients -o json')).includes('/first'),
  );
});

row('admission policies inject pods while no replica runs', { since: 36 }, async (holds) => {
  if (holds) {
    await kubectl(
      'wait --for=create mutatingadmissionpolicybinding/envoy.initializer.kubernetes.io --timeout=30s',
    );
  }
  fixture.operator.process.kill('SIGKILL');
  await fixture.operator.process.exited;
  const result = await admitted('default', { [OPT_IN]: 'true' });
  expect(result).toEqual(holds ? ['app', 'envoy'] : expect.stringContaining('failed calling webhook'));
});
