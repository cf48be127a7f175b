import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { follow, textOf } from '../../support/jest/follow.ts';
import { commandsOf, documents, section } from '../../support/jest/markdown.ts';
import { Reader } from '../../support/jest/reader.ts';
import { since } from '../../support/jest/since.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';
import { GITOPS_TOOLS, manifestsOf } from '../../support/operator/gitops-objects.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

describe('with an operator', () => {
  let fixture: OperatorFixture;
  let reader: Reader;
  const kubectl = (...args: readonly string[]) => fixture.kubectl(...args);
  beforeAll(async () => {
    fixture = await startOperatorFixture({ args: ['--policy=auto'] });
    reader = await Reader.at(fixture.controlPlane);
    await serviceAccount(fixture.controlPlane, 'default');
    await kubectl('create', 'deployment', 'web', '--image=busybox');
  });
  afterAll(() => fixture?.stop());

  test('README.md # What happens prints what it says', async () => {
    await follow(reader, 'README.md', '## What happens');
    await kubectl('delete', 'network/example-network', 'pod/myapp-pod', '--now');
  });

  test('docs/networks.md # Walkthrough prints what it says', async () => {
    await follow(reader, 'docs/networks.md', '## Walkthrough');
    await kubectl('delete', 'networks', '--all');
  });

  test.each(['## inject', '## uninject', '## version'])('docs/cli.md %s prints what it says', (heading) =>
    follow(reader, 'docs/cli.md', heading),
  );

  test('docs/envoy.md # Configure Envoy prints what it says', async () => {
    await follow(reader, 'docs/envoy.md', '# Configure Envoy');
    await kubectl('delete', '-k', example('../envoy'));
  });

  test('docs/envoy.md quotes what kubectl says of a configuration of Envoy', async () => {
    const data = { 'envoy.json': '{"static_resources":{"clusters":[{"name":"app","hosts":[]}]}}' };
    await reader.save(
      'old.yaml',
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'envoy' }, data }),
    );
    const [first] = commandsOf(section(textOf('docs/envoy.md'), '## Check a configuration'));
    const { stdout } = await reader.type(first?.command ?? '');
    expect(stdout.trim().split('\n')).toEqual(first?.output);
  });

  test('README.md # On the command line prints what it says', async () => {
    await kubectl('wait', 'deployment/web', '--for=jsonpath={.status.replicas}=1', '--timeout=60s');
    await reader.save('my-template.yaml', 'containers:\n- name: envoy\n  image: envoyproxy/envoy:v1.40.0\n');
    await follow(reader, 'README.md', '## On the command line');
  });

  since(36).test('docs/operations.md # Policies prints what it says (since 1.36)', () =>
    follow(reader, 'docs/operations.md', '## Policies'),
  );

  test('docs/cli.md # check prints what it says', async () => {
    const template = {
      metadata: { labels: { app: 'habit' } },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    };
    await fixture.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'habit', annotations: { 'initializer.kubernetes.io/envoy': 'true' } },
      spec: { selector: { matchLabels: { app: 'habit' } }, template },
    });
    await follow(reader, 'docs/cli.md', '## check');
  });

  test('docs/cli.md # lint prints what it says', async () => {
    await reader.save('bad.yaml', badTemplate('      - name: envoy\n        args: []', '        '));
    await follow(reader, 'docs/cli.md', '## lint');
  });

  test('docs/install.md # The template prints what it says', async () => {
    const config = 'containers:\n- name: envoy\n  imag: envoy\n  ports: [{containerPort: "80"}]\n';
    await reader.save('bad.yaml', JSON.stringify(templateConfigMap(config)));
    await follow(reader, 'docs/install.md', '## The template');
  });

  test('the template transparent of docs/envoy.md comes beside an applied one, and stays with it', async () => {
    const commands = commandsOf(section(textOf('docs/envoy.md'), '## All connections of a pod'));
    const add = commands.find(({ command }) => command.includes('deploy/transparent'))?.command ?? '';
    const apply = 'kubectl apply -f deploy/examples/template.yaml';
    for (const command of [apply, add, add, apply, add])
      expect(await reader.type(command)).toMatchObject({ code: 0 });
    const { data } = JSON.parse(
      await kubectl('get', 'configmap', 'envoy-initializer', '-n', 'envoy-initializer', '-o', 'json'),
    );
    expect(Object.keys(data).sort()).toEqual(['config', 'config.transparent']);
  });

  test('docs/install.md # Further templates prints what it says, with the one that came just now', async () => {
    await kubectl('create', 'namespace', 'shop');
    const [annotate] = commandsOf(section(textOf('docs/install.md'), '### Further templates'));
    await eventually(
      'the template is adopted',
      async () =>
        !(await reader.type(`${annotate?.command} --dry-run=server`)).stdout.includes('unknown-template'),
    );
    await follow(reader, 'docs/install.md', '### Further templates');
  });

  test('docs/networks.md # Pods on a Network prints what it says', async () => {
    await kubectl('apply', '-f', example('example-network.yaml'), '-f', example('network-pod.yaml'));
    await kubectl(
      'wait',
      'pod/network-pod',
      '--for=jsonpath={.spec.schedulingGates}=',
      '--timeout=30s',
    ).catch(() => '');
    await eventually(
      'the pod counts',
      async () =>
        (await kubectl('get', 'network', 'example-network', '-o', 'jsonpath={.status.attachedPods}')) === '1',
    );
    await kubectl('delete', 'network', 'example-network', '--wait=false');
    await follow(reader, 'docs/networks.md', '## Pods on a Network');
    await kubectl('delete', 'pod', 'network-pod', '--now');
  });

  test('the role of docs/networks.md # Tenants lets tenants create Networks', async () => {
    await kubectl('create', 'namespace', 'team');
    await follow(reader, 'docs/networks.md', '## Tenants');
    const tenant = ['--as=someone', '--as-group=team', '--namespace=team'];
    expect(await kubectl('auth', 'can-i', 'create', 'networks', ...tenant)).toMatch(/^yes$/m);
  });

  test('docs/operations.md # Missed and stale pods prints what it says', async () => {
    await kubectl('create', 'namespace', 'web');
    await kubectl('label', 'namespace', 'web', 'initializer.kubernetes.io/envoy=true');
    await fixture.apply(templateConfigMap('containers:\n- name: envoy\n  image: envoyproxy/envoy:v1.39.0\n'));
    const asked = 'kubectl run asked --image=busybox --namespace=web --dry-run=server --output=yaml';
    await eventually('the template is adopted', async () =>
      (await reader.type(asked)).stdout.includes('v1.39.0'),
    );
    await kubectl('create', 'deployment', 'web', '--image=busybox', '--namespace=web');
    await eventually('the pod has its sidecar', async () =>
      (
        await kubectl('get', 'pods', '-n', 'web', '-o', 'jsonpath={.items[*].spec.containers[*].name}')
      ).endsWith(' envoy'),
    );
    await fixture.apply(templateConfigMap('containers:\n- name: envoy\n  image: envoyproxy/envoy:v1.40.0\n'));
    await follow(reader, 'docs/operations.md', '## Missed and stale pods');
  });

  test('a conflict is an Event of the ReplicaSet, as docs/troubleshooting.md says', async () => {
    await kubectl('delete', 'deployment', 'web');
    await fixture.apply(templateConfigMap(TEMPLATE_WITH_VOLUME));
    const metadata = { labels: { app: 'web', 'initializer.kubernetes.io/envoy': 'true' } };
    const containers = [{ name: 'web', image: 'busybox' }];
    const template = { metadata, spec: { containers, volumes: [{ name: 'envoy-conf', emptyDir: {} }] } };
    const pod = { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...metadata, name: 'asked' } };
    await reader.save('asked.json', JSON.stringify(pod));
    await eventually('the template is adopted', async () =>
      (await reader.type('kubectl create --dry-run=server -f asked.json')).stdout.includes('conflict'),
    );
    await fixture.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { selector: { matchLabels: { app: 'web' } }, template },
    });
    await follow(reader, 'docs/troubleshooting.md', '## A pod runs without its sidecar');
  });

  test('docs/troubleshooting.md # Pods are refused after an uninstall prints what it says', () =>
    follow(reader, 'docs/troubleshooting.md', '## Pods are refused after an uninstall'));
});

const OLD_JSON =
  '{"static_resources":{"listeners":[{"name":"http","address":{"socket_address":{"address":"0.0.0.0","port_value":80}},"filter_chains":[{"filters":[{"name":"envoy.filters.network.http_connection_manager","config":{}}]}]}]}}';

const example = (file: string) => join(projectDirectory(), 'deploy/examples', file);

const TEMPLATE_WITH_VOLUME =
  'containers:\n- name: envoy\n  image: envoy\nvolumes:\n- name: envoy-conf\n  configMap: {name: envoy}\n';

const templateConfigMap = (config: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'envoy-initializer', namespace: 'envoy-initializer' },
  data: { config },
});

/** A ConfigMap with two mistakes in its template, in lines 11 and 13. */
function badTemplate(container: string, indent: string): string {
  const head =
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: envoy-initializer\n  namespace: envoy-initializer';
  const mistakes = `${indent}imag: envoy\n${indent}ports:\n${indent}  - containerPort: "80"`;
  return `${head}\ndata:\n  config: |\n    containers:\n${container}\n${mistakes}\n`;
}

describe('without an operator', () => {
  let controlPlane: ControlPlane;
  let reader: Reader;
  beforeAll(async () => {
    controlPlane = await startControlPlane();
    reader = await Reader.at(controlPlane);
    await serviceAccount(controlPlane, 'default');
  });
  afterAll(() => controlPlane?.stop());

  since(36).test('docs/operations.md # Without the operator prints what it says (since 1.36)', async () => {
    const optIn = 'initializer.kubernetes.io/envoy';
    const pod = (...how: readonly string[]) =>
      controlPlane.kubectl(['run', 'asked', '--image=busybox', '--dry-run=server', '-o', 'yaml', ...how]);
    // The API server takes up policies that change pods and those that warn each in its own time.
    const inEffect = async () => {
      const injected = await pod(`--labels=${optIn}=true`);
      const warned = await pod(`--annotations=${optIn}=true`, `--annotations=${optIn}-image=mine`);
      return injected.stdout.includes('name: envoy\n') && warned.stderr.includes('no sidecar');
    };
    await follow(reader, 'docs/operations.md', '### Without the operator', () =>
      eventually('the policies are in effect', inEffect),
    );
  });

  test('docs/envoy.md quotes what lint says of a configuration of Envoy, and of one of the v2 API', async () => {
    await reader.save('old.json', OLD_JSON);
    const [, ...commands] = commandsOf(section(textOf('docs/envoy.md'), '## Check a configuration'));
    for (const { command, output } of commands)
      expect((await reader.type(command)).stdout.trim().split('\n')).toEqual(output);
  });

  const directories = [
    ...new Set(
      documents()
        .flatMap(({ text }) => commandsOf(text))
        .flatMap(({ command }) => /^kubectl apply -k (\S+)/.exec(command)?.[1] ?? []),
    ),
  ];

  test.each(directories)(
    'kubectl apply -k %s of the documents is taken by the API server',
    async (directory) => {
      await reader.type('kubectl create namespace monitoring');
      const namespace = directory === 'deploy/monitoring' ? '--namespace=monitoring' : '';
      const { code, stdout } = await reader.type(`kubectl apply -k ${directory} ${namespace}`);
      expect({ code, stdout }).toMatchObject({ code: 0 });
    },
  );

  test('docs/operations.md ## Alerts and dashboard prints what it says', async () => {
    await reader.type('kubectl create namespace monitoring');
    await follow(reader, 'docs/operations.md', '## Alerts and dashboard');
  });

  test.each(GITOPS_TOOLS)('docs/gitops.md $heading prints what it says', async (tool) => {
    const { heading, namespace } = tool;
    await reader.save('tool.yaml', await manifestsOf(tool));
    for (const command of [
      `kubectl create namespace ${namespace}`,
      `kubectl apply --server-side --namespace ${namespace} -f tool.yaml`,
    ])
      expect(await reader.type(command)).toMatchObject({ code: 0 });
    // kubectl fails where there are no conditions yet.
    await eventually('its kinds are served', async () => {
      const { code } = await reader.type('kubectl wait --for=condition=Established crd --all');
      return code === 0;
    });
    await follow(reader, 'docs/gitops.md', heading);
  });

  test('docs/install.md says what deploy/ installs, and its pods can get a priority class', async () => {
    await reader.type('kubectl apply -k deploy/overlays/default');
    await follow(reader, 'docs/install.md', '## Upgrade');
    await follow(reader, 'docs/install.md', '## What is installed');
  });
});
