import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { bootstrapFaults } from '../../../../src/injection/envoy/configuration-faults.ts';
import { ENVOY_FILES, type EnvoyFiles } from '../../../../src/injection/envoy/files.ts';
import { listeningPorts } from '../../../../src/injection/envoy/listening-ports.ts';
import { NO_ROUTES, ROUTES_DIRECTORY, ROUTES_FILE } from '../../../../src/injection/envoy/routed.ts';
import { inject } from '../../../../src/injection/inject.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { conflict } from '../../../../src/injection/rules/sidecar-rules.ts';
import { parseTemplate } from '../../../../src/injection/template/parse-template.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../../src/injection/webhook/default-template.ts';
import { formatDiagnostic, formatInText } from '../../../../src/util/diagnostic.ts';
import { isObject, type JsonObject, own, ownObjects } from '../../../../src/util/json.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { decideInput, podWith, templateSet } from '../../../support/injection/demo.ts';
import { ENVOY_CONFIGURATIONS } from '../../../support/routing/envoy-configurations.ts';

function faultsOf(bootstrap: unknown, key = 'envoy.json'): readonly string[] {
  return bootstrapFaults(key, JSON.stringify(bootstrap, null, 1)).map(({ line: _, column: __, ...fault }) =>
    formatInText({ ...fault, source: '' }).replace(/^: /, ''),
  );
}

function withFilter(filter: unknown) {
  return { static_resources: { listeners: [{ filter_chains: [{ filters: [filter] }] }] } };
}

test.each(Object.entries(ENVOY_CONFIGURATIONS))(
  "the check of Envoy's configuration finds nothing in %s, which comes with the operator",
  (_, value) => {
    expect(faultsOf(value)).toEqual([]);
  },
);

const gone = 'belongs to the v2 API, which Envoy removed in 1.18';
const filter = 'static_resources.listeners[0].filter_chains[0].filters[0]';
test.each<[string, object, string]>([
  [
    'the config of a filter',
    withFilter({ name: 'envoy.http_connection_manager', config: {} }),
    `${filter}.config: ${gone}: write typed_config, with the v3 type of the filter as its "@type"`,
  ],
  [
    'a type',
    withFilter({ name: 'x', typed_config: { '@type': 'type.googleapis.com/envoy.api.v2.Cluster' } }),
    `${filter}.typed_config["@type"]: type.googleapis.com/envoy.api.v2.Cluster ${gone}: write its v3 type`,
  ],
  [
    'the hosts of a cluster',
    { static_resources: { clusters: [{ name: 'a', hosts: [] }] } },
    `static_resources.clusters[0].hosts: ${gone}: write load_assignment`,
  ],
  [
    'the TLS context of a listener',
    { static_resources: { listeners: [{ filter_chains: [{ tls_context: {} }] }] } },
    `static_resources.listeners[0].filter_chains[0].tls_context: ${gone}: write transport_socket`,
  ],
  [
    'a version of the transport',
    { dynamic_resources: { cds_config: { resource_api_version: 'V2' } } },
    `dynamic_resources.cds_config.resource_api_version: V2 ${gone}: write V3`,
  ],
])(
  "the check of Envoy's configuration finds the v2 API, and says what to write: %s",
  (_, bootstrap, fault) => {
    expect(faultsOf(bootstrap)).toContain(fault);
  },
);

test("the check of Envoy's configuration does not find fields of the v2 API by their names in v3", () => {
  expect(faultsOf({ stats_config: { config: {} }, admin: { name: 'x', config: {} } })).toEqual([]);
});

// biome-ignore format: a line for each case
test.each<[string, string, string]>([
  ['text that is not YAML', '{ "admin": ', 'envoy.json:1:12: invalid YAML: unexpected end of the stream within a flow collection'],
  ['a list', '[]', 'envoy.json:1:1: must be an Envoy bootstrap: {"static_resources": …}'],
  ['YAML in a JSON file', 'admin: {}', 'envoy.json: is YAML, but Envoy reads a file with this name as JSON: rename it to .yaml'],
])("the check of Envoy's configuration refuses %s", (_, text, fault) => {
  expect(bootstrapFaults('envoy.json', text).map(formatInText)).toEqual([fault]);
});

const text = await readFile(join(projectDirectory(), 'deploy/transparent/template.yaml'), 'utf8');
const parsed = parseTemplate('config.transparent', 'transparent', text);
const template = 'template' in parsed ? parsed.template : undefined;
const [capture, envoy] = template?.initContainers ?? [];

test('the template transparent is valid, and its one warning is about the capability that it needs', () => {
  expect('advice' in parsed ? parsed.advice.map(formatInText) : parsed).toEqual([
    'config.transparent:3:1: not injected in namespaces that enforce baseline pod security: container envoy-capture must not add the capability NET_ADMIN',
  ]);
});

test('the containers of the template transparent read files of the ConfigMap', () => {
  const paths = [capture?.command, envoy?.args].flat().map(String);
  const files = paths.flatMap((path) => /^\/etc\/envoy\/(.*)$/.exec(path)?.[1] ?? []);
  expect(files).toEqual(['capture.sh', 'transparent.json']);
  expect(Object.keys(ENVOY_FILES)).toEqual(expect.arrayContaining(files));
});

test('the template transparent finds a file of routes, which has none until envoy-routes is there', () => {
  const [mount] = [envoy?.volumeMounts]
    .flat()
    .filter((each) => isObject(each) && each.mountPath === ROUTES_DIRECTORY);
  expect(mount).toMatchObject({ name: 'envoy-routes' });
  const items = [{ key: 'no-routes', path: ROUTES_FILE }];
  expect(template?.volumes).toContainEqual({
    name: 'envoy-routes',
    // Of two sources with one file, the kubelet takes the last.
    projected: {
      sources: [
        { configMap: { name: 'envoy', items } },
        { configMap: { name: 'envoy-routes', optional: true } },
      ],
    },
  });
  expect(ENVOY_FILES['no-routes']).toBe(NO_ROUTES);
});

test('the template transparent runs Envoy as the user that the rules exempt', () => {
  const [, user] = /PROXY_UID:-(\d+)/.exec(ENVOY_FILES['capture.sh'] ?? '') ?? [];
  expect(envoy?.securityContext).toMatchObject({ runAsUser: Number(user) });
});

test('deploy/envoy creates the ConfigMap from the same files', async () => {
  const kustomization = await readFile(join(projectDirectory(), 'deploy/envoy/kustomization.yaml'), 'utf8');
  const files = [...kustomization.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => name);
  expect(files.toSorted()).toEqual(Object.keys(ENVOY_FILES).toSorted());
});

test('the three configurations of Envoy share all but what is about the application', () => {
  const common = Object.entries(ENVOY_CONFIGURATIONS).map(
    ([, { admin, overload_manager, stats_config, ...rest }]) => {
      const listeners = ownObjects(own(rest, 'static_resources'), 'listeners');
      return {
        admin,
        overload_manager,
        stats_config,
        metrics: listeners.find(({ name }) => name === 'metrics'),
      };
    },
  );
  for (const each of common) expect(each).toEqual(common[0]);
  expect(common[0]?.metrics).toBeDefined();
});

const TRANSPARENT = readFileSync('deploy/transparent/template.yaml', 'utf8');
const portsOf = (container: JsonObject, files?: EnvoyFiles, volumes: readonly JsonObject[] = [VOLUME]) =>
  listeningPorts(container, volumes, files).map(
    ({ containerPort, protocol = 'TCP' }) => `${containerPort}/${protocol}`,
  );
const VOLUME = { name: 'conf', configMap: { name: 'envoy' } };
const mounted = (path: string, mount: JsonObject = {}) => ({
  args: ['--config-path', path],
  volumeMounts: [{ name: 'conf', mountPath: '/etc/envoy', ...mount }],
});
const YAML = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9000}}}
staticResources:
  listeners:
  - address: {socketAddress: {protocol: UDP, portValue: 53}}
    additionalAddresses: [{address: {socketAddress: {portValue: "54"}}}]
  - address: {pipe: {path: /sock}}
`;

// biome-ignore format: a line for each case
test.each<[string, JsonObject, readonly string[]]>([
  ['what it declares', { ports: [{ containerPort: 80 }] }, ['80/TCP']],
  [
    'the ports of its probes',
    {
      ports: [{ containerPort: 80 }],
      startupProbe: { httpGet: { port: 80 } },
      readinessProbe: { tcpSocket: { port: 81 } },
      livenessProbe: { grpc: { port: 82 } },
    },
    ['80/TCP', '81/TCP', '82/TCP'],
  ],
  ['no named port of a probe, which it declares', { readinessProbe: { httpGet: { port: 'http' } } }, []],
  ['no port of another host', { readinessProbe: { httpGet: { port: 1, host: '10.0.0.1' } } }, []],
  ['the ports of its configuration', mounted('/etc/envoy/e.yaml'), ['9000/TCP', '53/UDP', '54/TCP']],
  ['those of a file', mounted('/etc/envoy/e.yaml', { mountPath: '/etc/envoy/e.yaml', subPath: 'e.yaml' }), ['9000/TCP', '53/UDP', '54/TCP']],
  ['those of a file named in one text', { ...mounted(''), args: ['-c /etc/envoy/e.yaml'] }, ['9000/TCP', '53/UDP', '54/TCP']],
  [
    'those of a file named in a script',
    { ...mounted(''), command: ['sh', '-c', 'exec envoy -c "/etc/envoy/e.yaml"'], args: [] },
    ['9000/TCP', '53/UDP', '54/TCP'],
  ],
  ['those of its arguments', { args: ['--config-yaml', YAML] }, ['9000/TCP', '53/UDP', '54/TCP']],
  ['the ports of its hooks', { lifecycle: { preStop: { httpGet: { port: 83 } } } }, ['83/TCP']],
  ['nothing of a file that it does not mount', mounted('/etc/other/e.yaml'), []],
  ['nothing of a file that does not exist', mounted('/etc/envoy/f.yaml'), []],
  ['nothing of a file that is not valid', mounted('/etc/envoy/bad.json'), []],
  ['nothing of a file that is too long', mounted('/etc/envoy/long.yaml'), []],
])('a sidecar listens on %s', (_, container, ports) => {
  const files = { 'e.yaml': YAML, 'bad.json': YAML, 'long.yaml': `${YAML}#${'x'.repeat(50_000)}` };
  expect(portsOf(container, files)).toEqual(ports);
});

test('a sidecar listens on the ports of a file that the volume gives another path', () => {
  const items = [{ key: 'e.yaml', path: 'boot/envoy.yaml' }];
  const volume = { name: 'conf', projected: { sources: [{ configMap: { name: 'envoy', items } }] } };
  expect(portsOf(mounted('/etc/envoy/boot/envoy.yaml'), { 'e.yaml': YAML }, [volume])).toHaveLength(3);
  expect(
    portsOf(mounted('/etc/envoy/boot/envoy.yaml'), { 'e.yaml': YAML }, [
      { name: 'conf', configMap: { name: 'mine' } },
    ]),
  ).toEqual([]);
});

const on = (containerPort: number) =>
  podWith({ containers: [{ name: 'a', image: 'b', ports: [{ containerPort }] }] });
const answer = (config: string, port: number, envoyFiles: EnvoyFiles | undefined) => {
  const injection = inject(decideInput(on(port), { state: { set: templateSet({ config }) }, envoyFiles }));
  return injection.outcome === 'injected'
    ? 'injected'
    : injection.skip.diagnostics.map(formatDiagnostic).join();
};
const inTheWay = (port: number) =>
  `spec.containers[name=a].ports[containerPort=${port}/TCP]: the template's container envoy also uses it: change one of the ports`;

test.each<[string, string, number, EnvoyFiles | undefined, boolean]>([
  ['its probe', DEFAULT_TEMPLATE_YAML, 15021, undefined, true],
  ['its admin endpoint', DEFAULT_TEMPLATE_YAML, 9901, ENVOY_FILES, true],
  ['nothing that is known', DEFAULT_TEMPLATE_YAML, 9901, undefined, false],
  ['that of another configuration', DEFAULT_TEMPLATE_YAML, 15001, ENVOY_FILES, false],
  ['its refusals', TRANSPARENT, 15002, ENVOY_FILES, true],
  ['no port', TRANSPARENT, 8080, ENVOY_FILES, false],
])(
  'an application conflicts on an undeclared port of the sidecar exactly if it is known: %s',
  (_, config, port, files, isTaken) => {
    expect(answer(config, port, files)).toBe(isTaken ? inTheWay(port) : 'injected');
  },
);

test('an undeclared port of a sidecar is left to the webhook by a policy', () => {
  const [template] = templateSet({ config: DEFAULT_TEMPLATE_YAML }).templates.values();
  if (!template) throw new Error('no template');
  const cel = (envoyFiles: readonly EnvoyFiles[]) =>
    conflict.cel({ audience: 'pod', keys: keysFor(), template, envoyFiles })?.unless;
  expect(cel([])).toContain('p.containerPort in [80, 15090, 15021]');
  expect(cel([ENVOY_FILES])).toContain('p.containerPort in [80, 15090, 15021, 9901]');
  const own = { 'envoy.json': '{"admin": {"address": {"socket_address": {"port_value": 7}}}}' };
  expect(cel([ENVOY_FILES, own])).toContain('p.containerPort in [80, 15090, 15021, 9901, 7]');
});

test('an undeclared port of a sidecar is in the way of a second template, too', () => {
  const second = 'containers: [{name: other, image: i, ports: [{containerPort: 9901}]}]';
  const set = templateSet({ config: DEFAULT_TEMPLATE_YAML, 'config.second': second });
  const pod = podWith(
    {},
    {
      annotations: {
        'initializer.kubernetes.io/envoy': 'true',
        'initializer.kubernetes.io/envoy-templates': 'config,second',
      },
    },
  );
  const outcomes = [ENVOY_FILES, undefined].map(
    (envoyFiles) => inject(decideInput(pod, { state: { set }, envoyFiles })).outcome,
  );
  expect(outcomes).toEqual(['skipped', 'injected']);
});
