import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { load, loadAll } from 'js-yaml';
import { writeChart } from '../../../hack/helm/chart.ts';
import { neededBy, render } from '../../../hack/helm/render.ts';
import { valueName } from '../../../hack/helm/template.ts';
import { ensureTool, findTool } from '../../../hack/release/tools.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { VERSION } from '../../../src/kube/util/version.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { type CommandResult, runCommand } from '../../env/control-plane/run-command.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { must, startOperator } from '../../env/operator.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';
import { Installation } from '../../support/operator/installation.ts';
import { objectNames } from '../../support/operator/object-names.ts';
import { uninstalled } from '../../support/operator/uninstall.ts';

const DEPLOY = join(projectDirectory(), 'deploy');
const COMPONENTS = readdirSync(join(DEPLOY, 'components'));
/** With that of files below the chart. */
const COMPONENTS_OF_CHART = [...COMPONENTS.map(valueName), 'gatewayApi'].toSorted();

interface Chart {
  readonly annotations: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const program = process.env.TEST_HELM
  ? await ensureTool('helm', process.env, process.stderr)
  : await findTool('helm', process.env);
const { kubectl } = await findBinaries(process.env);

interface Manifest extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly metadata: { readonly labels?: Record<string, string> };
      readonly spec: { readonly containers: readonly { args: string[] }[] };
    };
  };
}

interface Rules {
  readonly spec: {
    readonly groups: readonly {
      readonly rules: readonly { readonly annotations: { readonly runbook_url: string } }[];
    }[];
  };
}

type Objects = Readonly<Record<string, Manifest>>;

/** What Helm's users select by; the value of each is in quotes. */
const LABELS = {
  'app.kubernetes.io/instance': 'release',
  'app.kubernetes.io/managed-by': 'Helm',
  'app.kubernetes.io/name': 'envoy-initializer',
  'app.kubernetes.io/part-of': 'envoy-initializer',
  'app.kubernetes.io/version': VERSION,
  'helm.sh/chart': `envoy-initializer-${VERSION}`,
};

/** The labels that only the chart adds. */
function ofHelm({ labels = {} }: { readonly labels?: Readonly<Record<string, string>> }): object {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => name in LABELS));
}

/** Without them, which all objects and the pods must have. */
function withoutLabels(object: Manifest): Manifest {
  // Those of the Gateway API are its own.
  if (object.metadata.name.endsWith('.gateway.networking.k8s.io')) return object;
  expect(ofHelm(object.metadata)).toEqual(LABELS);
  const pod = object.spec?.template?.metadata;
  if (pod) {
    const { 'app.kubernetes.io/instance': instance, 'app.kubernetes.io/name': name } = LABELS;
    expect(ofHelm(pod)).toEqual({ 'app.kubernetes.io/instance': instance, 'app.kubernetes.io/name': name });
  }
  const strip = (key: string, value: unknown) =>
    key in LABELS ? undefined : key === 'labels' && isEmpty(value) ? undefined : value;
  return JSON.parse(JSON.stringify(object, strip));
}

/** Whether nothing but these labels is in it. */
function isEmpty(labels: unknown): boolean {
  return Object.keys(Object(labels)).every((name) => name in LABELS);
}

/** The objects, with their flags sorted: components add them in any order. */
function byName(objects: readonly Manifest[]): Objects {
  return Object.fromEntries(
    objects.map((object) => {
      const { namespace = '', name } = object.metadata;
      for (const container of object.spec?.template?.spec.containers ?? []) container.args.sort();
      return [`${object.kind}/${namespace}/${name}`, object];
    }),
  );
}

/** With what the chart alone has: Helm keeps the CRD of Networks when it removes the rest. */
function kept(objects: Objects): Objects {
  const key = 'CustomResourceDefinition//networks.samplecrd.k8s.io';
  const crd = objects[key];
  if (crd === undefined) throw new Error(`expected ${key}, got ${Object.keys(objects)}`);
  const annotations = { ...crd.metadata.annotations, 'helm.sh/resource-policy': 'keep' };
  return { ...objects, [key]: { ...crd, metadata: { ...crd.metadata, annotations } } };
}

describeUnless(program ? undefined : 'Helm is not built: make test-artifacts', 'the Helm chart', () => {
  let home: string;
  let chart: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'helm-'));
    chart = join(home, 'envoy-initializer');
    await writeChart(kubectl, chart);
  });

  afterAll(() => rm(home, { recursive: true }));

  async function helm(args: readonly string[], kubeconfig = '/dev/null'): Promise<CommandResult> {
    return await runCommand(program ?? '', args, { HOME: home, KUBECONFIG: kubeconfig }, '');
  }

  async function succeed(args: readonly string[], kubeconfig?: string): Promise<string> {
    const { code, stdout, stderr } = await helm(args, kubeconfig);
    if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}${stdout}`);
    return stdout;
  }

  async function valuesFile(values: object): Promise<string> {
    const file = join(home, 'values.json');
    await writeFile(file, JSON.stringify(values));
    return `--values=${file}`;
  }

  /** The objects of `helm template`. */
  async function templated(values: object, namespace = 'envoy-initializer'): Promise<Objects> {
    const args = ['template', 'release', chart, `--namespace=${namespace}`, await valuesFile(values)];
    const objects = loadAll(await succeed(args)) as (Manifest | null)[];
    return byName(objects.filter((object) => object !== null).map(withoutLabels));
  }

  test('the Helm chart passes helm lint', async () => {
    expect(await succeed(['lint', '--strict', chart])).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  test('the Helm chart has a README with each value, a schema of all of them, and what Artifact Hub shows', async () => {
    const text = (name: string) => readFile(join(chart, name), 'utf8');
    const values = Object.keys(load(await text('values.yaml')) as object);
    const { properties } = JSON.parse(await text('values.schema.json'));
    // Helm itself reads `global`.
    const { global: _, ...ours } = properties;
    const picked = ['imagePullSecrets', 'nodeSelector', 'priorityClassName', 'tolerations'];
    expect(Object.keys(ours).toSorted()).toEqual([...values, ...picked].toSorted());
    expect(Object.keys(ours.components.properties)).toEqual(COMPONENTS_OF_CHART);
    const page = await text('README.md');
    for (const name of values) expect(page).toContain(`\n| \`${name}\` | `);
    for (const name of COMPONENTS_OF_CHART)
      expect(page).toContain(`\n| \`components.${name}\` | \`false\` | `);
    expect(page).toContain('| `replicas` | `2` | ');
    const { annotations, icon, maintainers, kubeVersion } = load(await text('Chart.yaml')) as Chart;
    expect({ icon, maintainers, kubeVersion }).toEqual({
      icon: expect.stringMatching(/^data:image\/svg\+xml;base64,/),
      maintainers: [{ name: expect.any(String) }],
      kubeVersion: '>=1.31.0-0',
    });
    const annotation = (name: string) => load(annotations[`artifacthub.io/${name}`] ?? '');
    expect(annotation('images')).toEqual([
      { name: 'envoy-initializer', image: `envoy-initializer:${VERSION}` },
    ]);
    expect(annotation('crds')).toMatchObject([{ kind: 'Network', name: 'networks.samplecrd.k8s.io' }]);
    expect(annotation('changes')).toContainEqual({
      kind: 'added',
      description: expect.stringMatching(/^[A-Z`].*[^.]$/),
    });
  });

  test('the Helm chart is the default overlay by default, but for the namespace, which Helm creates', async () => {
    const { stdout } = await runCommand(kubectl, ['kustomize', join(DEPLOY, 'overlays/default')], {}, '');
    const { 'Namespace//envoy-initializer': _, ...expected } = byName(loadAll(stdout) as Manifest[]);
    expect(await templated({})).toEqual(kept(expected));
  });

  test.each([
    ...COMPONENTS.map((name) => [...neededBy(name), name]),
    COMPONENTS,
    ['repair', 'rollout', 'networks'],
  ])('the Helm chart with %s %s %s is what kustomize makes with these components', async (...names) => {
    const components = Object.fromEntries(names.map((name) => [valueName(name), true]));
    const expected = await render(kubectl, names, 'mesh-system');
    const objects = [...expected.values()].flatMap((text) => loadAll(text) as Manifest[]);
    expect(await templated({ components }, 'mesh-system')).toEqual(kept(byName(objects)));
  });

  test('the Helm chart fills values in', async () => {
    const pod = {
      affinity: { podAntiAffinity: null, nodeAffinity: {} },
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { disk: 'ssd' },
      priorityClassName: 'system-cluster-critical',
      tolerations: [{ operator: 'Exists' }],
    };
    const objects = await templated({
      ...pod,
      image: 'registry.example.com/e@sha256:abc',
      replicas: 3,
      extraArgs: ['--log-level=debug', '--resync=1m'],
      resources: { limits: { memory: '1Gi' } },
      components: { networks: true, repair: true, gatewayApi: true },
      template: { config: 'containers: []\n', 'config.small': 'containers: []\n' },
    });
    const image = 'registry.example.com/e@sha256:abc';
    expect(objects['Deployment/envoy-initializer/envoy-initializer']).toMatchObject({
      spec: {
        replicas: 3,
        template: {
          spec: {
            ...pod,
            affinity: { nodeAffinity: {} },
            containers: [
              {
                image,
                args: [
                  '--log-level=debug',
                  '--node-agent-namespace=envoy-initializer-node-agent',
                  '--repair=evict',
                  '--resync=1m',
                  'serve',
                ],
                resources: { limits: { memory: '1Gi' } },
              },
            ],
          },
        },
      },
    });
    const agent = objects['DaemonSet/envoy-initializer-node-agent/envoy-initializer-node-agent'];
    expect(agent).toMatchObject({
      spec: {
        template: {
          spec: {
            imagePullSecrets: pod.imagePullSecrets,
            priorityClassName: 'system-node-critical',
            containers: [{ image }],
          },
        },
      },
    });
    expect(objects['ConfigMap/envoy-initializer/envoy-initializer']).toMatchObject({
      metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
      data: { config: 'containers: []\n', 'config.small': 'containers: []\n' },
    });
    expect(objects['CustomResourceDefinition//httproutes.gateway.networking.k8s.io']).toMatchObject({
      metadata: { annotations: { 'helm.sh/resource-policy': 'keep' } },
    });
  });

  test('the Helm chart writes the address of runbooks before their paths', async () => {
    const runbooks = 'https://git.example.com/envoy-initializer/blob/v1/';
    const objects = await templated({ components: { monitoring: true }, runbooks });
    const { spec } = objects['PrometheusRule/envoy-initializer/envoy-initializer'] as unknown as Rules;
    const urls = spec.groups.flatMap(({ rules }) => rules.map(({ annotations }) => annotations.runbook_url));
    expect(urls.length).toBeGreaterThan(10);
    for (const url of urls) expect(url).toMatch(/^https:\/\/.*\/v1\/docs\/troubleshooting\.md#[a-z]/);
  });

  test('the Helm chart refuses values that it does not have', async () => {
    const faults = {
      components: { repairs: true },
      extraArgs: ['debug'],
      template: { confg: '' },
      replica: 1,
      runbooks: 'git.example.com',
    };
    const { code, stderr } = await helm(['template', 'release', chart, await valuesFile(faults)]);
    expect(code).toBe(1);
    expect(stderr).toContain("at '/components': additional properties 'repairs' not allowed");
    expect(stderr).toContain("at '/extraArgs/0': 'debug' does not match pattern");
    expect(stderr).toContain("at '/template': additional properties 'confg' not allowed");
    expect(stderr).toContain("at '/runbooks': 'git.example.com' does not match pattern");
    expect(stderr).toContain("at '': additional properties 'replica' not allowed");
    const alone = await helm(['template', 'release', chart, '--set=components.neutronPods=true']);
    expect(alone.stderr).toContain('components.neutronPods is true: set components.networks=true, too');
    const bare = await helm(['template', 'release', join(DEPLOY, 'helm')]);
    expect(bare.stderr).toContain('this chart has no manifests yet: run `make manifests`');
  });

  describe('on a control plane', () => {
    let controlPlane: ControlPlane;
    let installation: Installation;
    let before: readonly string[];
    const release = ['envoy-initializer', '--namespace=envoy-initializer'];
    const run = async (command: string) => (await must(controlPlane, command.split(' '))).stdout;
    const argsOf = (kind: string) =>
      run(`get ${kind} -n envoy-initializer -o jsonpath={.items[*].spec.template.spec.containers[0].args}`);

    beforeAll(async () => {
      controlPlane = await startControlPlane();
      installation = new Installation(controlPlane);
      before = await objectNames(controlPlane);
    });

    afterAll(() => controlPlane?.stop());

    test('the Helm chart is installed on a control plane, and the operator runs with it', async () => {
      await succeed(['install', ...release, chart, '--create-namespace'], controlPlane.kubeconfigPath);
      const log = join(controlPlane.directory, 'operator.log');
      await startOperator(controlPlane, { log, ownCertificates: true, isInstalled: true });
      await installation.untilWritten();
    });

    test('the Helm chart is upgraded and rolled back, and takes back nothing that operator or user wrote', async () => {
      await installation.changeTemplate();
      const before = await installation.written();
      const repair = ['--set=components.repair=true', '--set=components.networks=true'];
      await succeed(['upgrade', ...release, chart, ...repair], controlPlane.kubeconfigPath);
      expect(await argsOf('deployments')).toContain('--repair=evict');
      expect(await run('get clusterroles -o name')).toContain('envoy-initializer-repair');
      expect(await installation.written()).toEqual(before);
      await succeed(['rollback', ...release, '1'], controlPlane.kubeconfigPath);
      expect(await argsOf('deployments')).not.toContain('--repair=evict');
      expect(await run('get clusterroles -o name')).not.toContain('envoy-initializer-repair');
      expect(await installation.written()).toEqual(before);
    });

    test('the Helm chart leaves Networks and their CRD when Helm uninstalls it, and nothing after uninstall', async () => {
      await run(`apply -f ${join(DEPLOY, 'examples/example-network.yaml')}`);
      await succeed(['uninstall', ...release], controlPlane.kubeconfigPath);
      expect(await run('get networks -A -o name')).toBe('network.samplecrd.k8s.io/example-network\n');
      expect(await run('get deployments,mutatingwebhookconfigurations -A -o name')).toBe('');
      await uninstalled(controlPlane.kubeconfigPath, '--force');
      await run('delete namespace envoy-initializer');
      expect((await objectNames(controlPlane)).filter((name) => !before.includes(name))).toEqual([]);
    });
  });
});
