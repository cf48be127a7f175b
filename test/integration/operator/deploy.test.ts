import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { loadAll } from 'js-yaml';
import { deploy as runDeploy } from '../../../hack/deploy/deploy.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { must } from '../../env/operator.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

const deploy = join(projectDirectory(), 'deploy');
const OVERLAYS = [
  'default',
  'all-pods',
  'cert-manager',
  'dev',
  'repair',
  'rollout',
  'without-policies',
] as const;
type Overlay = (typeof OVERLAYS)[number];

interface Manifest extends KubeObject {
  readonly webhooks?: readonly {
    readonly clientConfig: { readonly service?: { readonly namespace: string } };
    readonly namespaceSelector?: object;
  }[];
}

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  const crds = join(projectDirectory(), 'test/support/operator/foreign-crds.yaml');
  await must(controlPlane, ['apply', '-f', crds]);
});

afterAll(() => controlPlane?.stop());

async function apply(...args: readonly string[]) {
  return await controlPlane.kubectl(['apply', ...args]);
}

function directoryOf(overlay: Overlay): string {
  return join(deploy, 'overlays', overlay);
}

const renderings = new Map<Overlay, Promise<ReadonlyMap<string, KubeObject>>>();
/** The objects of an overlay, as `kind/name`. */
function rendered(overlay: Overlay): Promise<ReadonlyMap<string, KubeObject>> {
  const rendering = renderings.get(overlay) ?? render(overlay);
  renderings.set(overlay, rendering);
  return rendering;
}

async function render(overlay: Overlay): Promise<ReadonlyMap<string, KubeObject>> {
  const { stdout } = await must(controlPlane, ['kustomize', directoryOf(overlay)]);
  const objects = loadAll(stdout) as KubeObject[];
  return new Map(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
}

test('the default overlay is accepted as a whole, with no warning', async () => {
  const { code, stderr, stdout } = await apply('-k', directoryOf('default'));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.trim().split('\n');
  expect(lines.filter((line) => !line.endsWith(' created'))).toEqual([]);
  expect(lines).toHaveLength((await rendered('default')).size);
});

test('the default overlay applied again changes nothing', async () => {
  const { stdout } = await apply('-k', directoryOf('default'));
  const lines = stdout.trim().split('\n');
  // kubectl sends the selector of a budget each time (`patchStrategy: replace`), and says so, although nothing changes.
  const sent = 'poddisruptionbudget.policy/envoy-initializer configured';
  expect(lines.filter((line) => !line.endsWith(' unchanged') && line !== sent)).toEqual([]);
  const { code, stdout: difference } = await controlPlane.kubectl(['diff', '-k', directoryOf('default')]);
  expect({ code, difference }).toEqual({ code: 0, difference: '' });
});

testWithControllerManager(
  'the default overlay makes pods that the restricted pod security of their namespace lets in',
  async () => {
    const { stdout: labels } = await must(controlPlane, [
      ...['get', 'namespace', 'envoy-initializer', '-o', 'jsonpath={.metadata.labels}'],
    ]);
    expect(JSON.parse(labels)).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    const { code } = await controlPlane.kubectl([
      ...['wait', '--namespace=envoy-initializer', '--for=jsonpath={.status.replicas}=2'],
      ...['deployment/envoy-initializer', '--timeout=60s'],
    ]);
    expect(code).toBe(0);
  },
);

describe('in another namespace', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'in-namespace-')));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Writes the kustomization of docs/install.md. */
  async function moved(overlay: string, inner = '.'): Promise<void> {
    const into = join(directory, inner);
    await mkdir(into, { recursive: true });
    const from = (path: string) => relative(into, join(deploy, path));
    const kustomization = {
      namespace: 'mesh-system',
      resources: [from(`overlays/${overlay}`)],
      transformers: [from('namespace')],
    };
    await writeFile(join(into, 'kustomization.yaml'), JSON.stringify(kustomization));
  }

  /** The lines that name the namespace of the manifests: a namespace, an account, a host or the certificate of cert-manager. */
  const leftBehind = (text: string) =>
    text
      .split('\n')
      .filter((line) =>
        /(namespace|metadata\.name|^ {2}- key: .*): envoy-initializer$|serviceaccount:envoy-initializer|\.envoy-initializer\.svc/.test(
          line,
        ),
      );

  test.each(OVERLAYS)('the overlay %s is in another namespace, with all that names it', async (overlay) => {
    await moved(overlay);
    const { stdout } = await must(controlPlane, ['kustomize', directory]);
    const before = [...(await rendered(overlay)).values()];
    expect(leftBehind(stdout)).toEqual([]);
    const webhooks = (loadAll(stdout) as Manifest[]).flatMap(({ webhooks: all = [] }) => all);
    for (const { clientConfig, namespaceSelector } of webhooks) {
      expect(clientConfig.service?.namespace).toBe('mesh-system');
      const selector = JSON.stringify(namespaceSelector ?? {});
      if (selector.includes('kubernetes.io/metadata.name')) expect(selector).toContain('"mesh-system"');
    }
    const { length } = before.flatMap((object) => (object as Manifest).webhooks ?? []);
    expect(webhooks).toHaveLength(length);
  });

  test('the component networks adds agents whose reports the operator may read, in another namespace', async () => {
    await moved('default', 'operator');
    const components = [relative(directory, join(deploy, 'components/networks'))];
    const kustomization = { resources: ['operator'], components };
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
    const { stdout } = await must(controlPlane, ['kustomize', directory]);
    expect(leftBehind(stdout)).toEqual([]);
    const agents = (loadAll(stdout) as KubeObject[]).filter(
      ({ metadata }) => metadata.namespace === 'envoy-initializer-node-agent',
    );
    expect(agents.map(({ kind }) => kind)).toContain('DaemonSet');
    expect(agents).toContainEqual(
      expect.objectContaining({
        kind: 'RoleBinding',
        subjects: [{ kind: 'ServiceAccount', name: 'envoy-initializer', namespace: 'mesh-system' }],
      }),
    );
  });
});

test.each(OVERLAYS)('the overlay %s is accepted by the API server, every field known', async (overlay) => {
  const { code, stderr } = await apply(
    ...['-k', directoryOf(overlay), '--dry-run=server', '--validate=strict'],
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test.each(OVERLAYS)(
  'the overlay %s labels all that it makes, but the CRD of users’ objects',
  async (overlay) => {
    const unlabelled = [...(await rendered(overlay))].filter(
      ([, { metadata }]) => metadata.labels?.app !== 'envoy-initializer',
    );
    expect(unlabelled.map(([name]) => name)).toEqual(['CustomResourceDefinition/networks.samplecrd.k8s.io']);
  },
);

test.each(OVERLAYS)('the overlay %s holds the account of its Deployment by the fence', async (overlay) => {
  const objects = await rendered(overlay);
  const { name } = objects.get('ServiceAccount/envoy-initializer')?.metadata ?? {};
  const fence = objects.get('ValidatingAdmissionPolicy/envoy-initializer-fence');
  expect(fence).toMatchObject({
    spec: {
      failurePolicy: 'Fail',
      matchConditions: expect.arrayContaining([
        {
          name: 'is-the-operator',
          expression: expect.stringContaining(`matches('^system:serviceaccount:[^:]+:${name}$')`),
        },
      ]),
    },
  });
  expect(objects.get('ValidatingAdmissionPolicyBinding/envoy-initializer-fence')).toMatchObject({
    spec: { policyName: 'envoy-initializer-fence', validationActions: ['Deny'] },
  });
});

test.each(['all-pods', 'cert-manager', 'default'] as const)(
  'the overlay %s takes the place of the one before',
  async (overlay) => {
    const { code, stderr } = await apply('-k', directoryOf(overlay));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { code: differs, stdout } = await controlPlane.kubectl(['diff', '-k', directoryOf(overlay)]);
    expect({ differs, stdout }).toEqual({ differs: 0, stdout: '' });
  },
);

test.each(['node-agent', 'networks', 'neutron-pods'])(
  'the overlay %s is accepted, and labels all that it makes',
  async (overlay) => {
    const directory = join(deploy, 'overlays', overlay);
    const { code, stderr } = await apply('-k', directory, '--validate=strict');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { stdout } = await must(controlPlane, ['kustomize', directory]);
    const labels = (loadAll(stdout) as KubeObject[]).map(({ metadata }) => metadata.labels?.app);
    // One of them has the CRD of users' objects.
    const unlabelled = overlay === 'node-agent' ? [] : [undefined];
    expect(new Set(labels)).toEqual(new Set(['envoy-initializer', ...unlabelled]));
  },
);

const COMPONENTS = [
  'all-pods',
  'cert-manager',
  'monitoring',
  'networks',
  'repair',
  'rollout',
  'without-policies',
];

describe('components', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'components-')));
  });
  afterAll(() => rm(directory, { recursive: true }));

  /** What kustomize makes of the default overlay with these, in this order. */
  async function combined(components: readonly string[]): Promise<readonly KubeObject[]> {
    const kustomization = {
      resources: [relative(directory, join(deploy, 'overlays/default'))],
      components: components.map((name) => relative(directory, join(deploy, 'components', name))),
    };
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
    const { stdout } = await must(controlPlane, ['kustomize', directory]);
    return loadAll(stdout) as KubeObject[];
  }

  const argsOf = (objects: readonly KubeObject[]) =>
    objects.flatMap((object) => {
      if (object.kind !== 'Deployment') return [];
      const { spec } = object as unknown as {
        spec: { template: { spec: { containers: [{ args: string[] }] } } };
      };
      return spec.template.spec.containers[0].args;
    });

  test.each([
    ['in order', [...COMPONENTS, 'neutron-pods']],
    ['in reverse', COMPONENTS.toReversed()],
  ])('components add up %s, to what the API server accepts', async (_, components) => {
    const args = argsOf(await combined(components));
    expect(args).toEqual(
      expect.arrayContaining([
        '--require-annotation=false',
        '--tls-cert-file=/tls/tls.crt',
        '--tls-ca-file=/tls/ca.crt',
        '--node-agent-namespace=envoy-initializer-node-agent',
        '--repair=evict',
        '--policy=off',
      ]),
    );
    const { code, stderr } = await apply('-k', directory, '--validate=strict');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('make deploy takes several components, and refuses unknown ones with those that there are', async () => {
    const said: string[] = [];
    const say = (line: string) => said.push(line);
    const options = { image: 'envoy-initializer:0.0.1', timeoutSeconds: 1, say };
    const applied: string[] = [];
    const kubectl = async (args: readonly string[]) => {
      const [verb, , path = ''] = args;
      if (verb === 'apply') applied.push(await readFile(join(path, 'kustomization.yaml'), 'utf8'));
      return { code: 0, stdout: 'deployment.apps/envoy-initializer unchanged\n', stderr: '' };
    };
    await runDeploy({ ...options, kubectl, overlay: 'repair all-pods' });
    expect(applied.at(-1)).toMatch(
      /"resources":\["[^"]*overlays\/default"\],"components":\["[^"]*components\/repair","[^"]*components\/all-pods"\]/,
    );
    expect(said[1]).toContain('If its image has, restart it: kubectl rollout restart');
    await runDeploy({ ...options, kubectl, overlay: 'monitoring' });
    expect(applied.at(-1)).toMatch(
      /"resources":\["[^"]*overlays\/default"\],"components":\["[^"]*monitoring"\]/,
    );
    await expect(runDeploy({ ...options, kubectl, overlay: 'multi-node' })).rejects.toThrow(
      'overlay "multi-node" does not exist: write one of all-pods, cert-manager, default, dev, gateway-api, kind, monitoring, networks, neutron-pods, node-agent, repair, rollout, without-policies, or a path',
    );
    await expect(runDeploy({ ...options, kubectl, overlay: 'repair everything' })).rejects.toThrow(
      'no component everything: to combine overlays, write some of all-pods, cert-manager, monitoring, networks, neutron-pods, repair, rollout, without-policies',
    );
  });
});

test('the overlay dev leaves out what runs in the cluster', async () => {
  const kinds = [...(await rendered('dev')).values()].map(({ kind }) => kind);
  expect(kinds).toContain('MutatingWebhookConfiguration');
  expect(kinds).not.toContain('Deployment');
  expect(kinds).not.toContain('Service');
});

const files = readdirSync(join(deploy, 'examples')).filter(
  (file) => file.endsWith('.yaml') && !file.startsWith('bad-'),
);
// The pods that opt in, or ask for a Network, wait for the operator: the webhook is there and answers nobody.
const waiting = ['myapp-pod.yaml', 'myapp-pod-by-label.yaml', 'network-pod.yaml', 'network-ping.yaml'];
const accepted = files.filter((file) => !waiting.includes(file));

test.each(accepted)('the example %s is accepted', async (file) => {
  const { code, stderr } = await apply('-f', join(deploy, 'examples', file));
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringMatching(/error/i) });
});
