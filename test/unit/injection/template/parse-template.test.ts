import { expect, test } from '@jest/globals';
import { parseTemplate } from '../../../../src/injection/template/parse-template.ts';
import type { Template } from '../../../../src/injection/template/template.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { DEMO_TEMPLATE } from '../../../support/injection/demo.ts';

function good(text: string): Template {
  const parsed = parseTemplate('config', 'config', text);
  if ('faults' in parsed) throw new Error(parsed.faults.map(formatInText).join('\n'));
  return parsed.template;
}

/** The faults of a text, each as users see it. */
function faults(text: string): readonly string[] {
  const parsed = parseTemplate('config', 'config', text);
  return 'faults' in parsed ? parsed.faults.map(formatInText) : [];
}

const container = (rest: string) => `containers:\n- name: a\n  image: b\n${rest.replaceAll(/^/gm, '  ')}`;
const volume = (rest: string) => `volumes:\n- name: v\n${rest.replaceAll(/^/gm, '  ')}`;

test('a valid template may be that of the demo', () => {
  expect(good(DEMO_TEMPLATE)).toMatchObject({
    name: 'config',
    containers: [
      { name: 'envoy', args: ['--concurrency 4', '--config-path /etc/envoy/envoy.json', '--mode serve'] },
    ],
    volumes: [{ name: 'envoy-conf', configMap: { name: 'envoy' } }],
    labels: {},
  });
});

test('a valid template may have metadata', () => {
  const template = good(`
metadata:
  labels: {team: mesh}
  annotations: {example.com/Note: "1"}
spec:
  containers: [{name: a, image: b}]`);
  expect(template.labels).toEqual({ team: 'mesh' });
  expect(template.annotations).toEqual({ 'example.com/Note': '1' });
  expect(template.containers).toEqual([{ name: 'a', image: 'b' }]);
});

test('a valid template has a hash that depends on the content, not on the layout', () => {
  const same = `
# a comment
spec:
  volumes: [{configMap: {name: envoy}, name: envoy-conf}]
  ${DEMO_TEMPLATE.slice(0, DEMO_TEMPLATE.indexOf('volumes:')).replaceAll('\n', '\n  ')}`;
  expect(good(same).hash).toBe(good(DEMO_TEMPLATE).hash);
  expect(good(DEMO_TEMPLATE.replace('512Mi', '513Mi')).hash).not.toBe(good(DEMO_TEMPLATE).hash);
});

test('a valid template is deeply frozen', () => {
  const { containers } = good(DEMO_TEMPLATE);
  expect(() => Object.assign(containers[0]?.resources ?? {}, { limits: {} })).toThrow(TypeError);
  const args = containers[0]?.args as string[];
  expect(() => args.push('x')).toThrow(TypeError);
});

test('a valid template may use every known field', () => {
  expect(
    good(`
initContainers:
- {name: setup, image: i}
- {name: native, image: i, restartPolicy: Always, startupProbe: {httpGet: {port: 1}}}
containers:
- name: a
  image: b
  env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
  envFrom: [{secretRef: {name: s}}]
  livenessProbe: {grpc: {port: 2}, periodSeconds: 3}
  lifecycle: {preStop: {sleep: {seconds: 1}}}
  resources: {requests: {cpu: 0.1, memory: 64Mi}, limits: {cpu: 1, memory: 1e9}}
  securityContext: {runAsUser: 1337, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
volumes:
- {name: p, projected: {defaultMode: 0o440, sources: [{serviceAccountToken: {path: t}}]}}
- {name: e, emptyDir: {}}
imagePullSecrets: [{name: registry.example.com}]
hostAliases: [{ip: "::1", hostnames: [a.b]}]
securityContext: {fsGroup: 1337, sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: "0"}]}
dnsConfig: {nameservers: [10.0.0.1], options: [{name: ndots, value: "2"}]}
env: [{name: PROXY, value: localhost}]
volumeMounts: [{name: e, mountPath: /run/e}]`),
  ).toMatchObject({ volumes: [{ projected: { defaultMode: 288 } }, {}] });
});

test('a valid template omits null fields', () => {
  expect(good('containers: [{name: a, image: b, args: null}]\nvolumes:').containers).toEqual([
    { name: 'a', image: 'b' },
  ]);
});

test('a valid template may repeat a value by alias', () => {
  const { containers } = good('containers: [{name: a, image: &i b}, {name: c, image: *i}]');
  expect(containers[1]).toEqual({ name: 'c', image: 'b' });
});

test('a valid template reads YAML 1.2: on and yes are strings', () => {
  const { containers } = good(container('args: [on, yes, n]'));
  expect(containers[0]?.args).toEqual(['on', 'yes', 'n']);
});

test.each([
  ['config:2:13: invalid YAML: unexpected end', 'containers:\n  - name: "a'],
  ['config:1:12: invalid YAML: ', '\tcontainers: []'],
  ['config:2:1: invalid YAML: duplicated mapping key', 'containers: []\ncontainers: []'],
  ['config: expected a single document', '---\na: 1\n---\nb: 1'],
  ['config: is empty', ''],
  ['config:1:13: invalid YAML: unknown scalar tag', 'containers: !!js/function x'],
  ['config:1:14: invalid YAML: unidentified alias', 'containers: *x'],
  ['config: nested deeper than 100', 'containers: &x [*x]'],
  ['config: Infinity is not a number in JSON', 'containers: [.inf]'],
  ['config: is longer than 1048576 characters: shorten it', `#${' '.repeat(1024 * 1024)}`],
])('the text of a template has the fault %s', (fault, text) => {
  expect(faults(text)).toEqual([expect.stringContaining(fault)]);
});

test('the text of a template with an alias bomb is refused', () => {
  const levels = Array.from(
    { length: 40 },
    (_, i) => `- &a${i} [${i === 0 ? 'x' : `*a${i - 1}, *a${i - 1}`}]`,
  );
  expect(faults(levels.join('\n'))).toEqual(['config: more than 10000 values once aliases are expanded']);
});

// biome-ignore format: a line for each case
test.each([
  ['config:1:1: must be a mapping of fields, not a list', '[]'],
  ['config:2:1: container: unknown field "container": did you mean containers?', 'containers: []\ncontainer: []'],
  [
    'unknown field "hostPID": expected one of containers, initContainers, env, volumeMounts, volumes, imagePullSecrets, hostAliases, securityContext, dnsConfig',
    'hostPID: true',
  ],
  ['config:4:3: containers[0].imagePullPolcy: unknown field "imagePullPolcy": did you mean imagePullPolicy?', container('imagePullPolcy: Always')],
  // What templates may not change of the application, by ADR 14.
  ['unknown field "serviceAccountName"', 'serviceAccountName: x'],
  ['unknown field "shareProcessNamespace"', 'shareProcessNamespace: true'],
  ['unknown field "tolerations"', 'tolerations: []'],
  ['unknown field "__proto__"', '__proto__: {}\ncontainers: []'],
  ['unknown field "constructor"', 'constructor: {}'],
  ['kind: unknown field "kind"', 'kind: Pod\nspec: {}'],
  ['metadata: must be a mapping of fields, not a list', 'metadata: []'],
  ['metadata.name: unknown field "name": expected one of labels, annotations', 'metadata: {name: x}\nspec: {}'],
  ['containers: must be a list, not a mapping', 'containers: {}'],
  ['containers[0]: must be a mapping of fields, not null', 'containers: [null]'],
  ['config:1:14: containers[0].name: required, but missing', 'containers: [{image: b}]'],
  ['containers[0].name: required, but missing', 'containers: [{name: ~, image: b}]'],
  ['env[0].value: must be a string: write "8080" with quotes', container('env: [{name: PORT, value: 8080}]')],
  ['args[0]: must be a string: write "true" with quotes', container('args: [true]')],
  ['args[0]: must be a string, not null', container('args: [null]')],
  ['tty: must be true or false, not "yes"', container('tty: yes')],
  ['ports[0].containerPort: must be a whole number, not "80"', container('ports: [{containerPort: "80"}]')],
  ['must be a whole number, not 8.5', container('ports: [{containerPort: 8.5}]')],
  ['must be a whole number, not 9007199254740992', container('securityContext: {runAsUser: 9007199254740993}')],
  ['defaultMode: must be a whole number; 0644 is octal only in YAML 1.1: write 420 or 0o644', volume('configMap: {name: c, defaultMode: 0644}')],
  ['resources.limits.cpu: must be a quantity such as 100m, 0.5 or 512Mi, not "lots"', container('resources: {limits: {cpu: lots}}')],
  ['imagePullPolicy: must be one of Always, IfNotPresent, Never: did you mean Always?', container('imagePullPolicy: always')],
  ['protocol: must be one of TCP, UDP, SCTP', container('ports: [{containerPort: 1, protocol: HTTP}]')],
  ['metadata.labels.a: must be a string: write "1" with quotes', 'metadata: {labels: {a: 1}}\nspec: {}'],
  ['resources.limits: must be a mapping, not a list', container('resources: {limits: [1]}')],
  ['port: must be a whole number or a string, not a list', container('startupProbe: {tcpSocket: {port: []}}')],
])('the shape of a template has the fault %s', (fault, text) => {
  expect(faults(text)).toContainEqual(expect.stringContaining(fault));
});

test("the faults of a template's shape are reported together, up to twenty", () => {
  expect(faults('containers: [{nam: a}]\nvolume: []')).toHaveLength(3);
  expect(faults(`containers: [${'{x: 1},'.repeat(1000)}]`)).toHaveLength(20);
});

// biome-ignore format: a line for each case
test.each([
  ['config:1:1: is empty: add at least one container', 'containers: []'],
  ['config:1:14: containers[0].image: required: set the image to run', 'containers: [{name: a}]'],
  [
    'containers: at most 100 in total with initContainers, got 101: remove some',
    `containers: [${Array.from({ length: 101 }, (_, i) => `{name: c${i}, image: b}`).join()}]`,
  ],
  ['image: auto is only for pods that override the template', 'containers: [{name: a, image: auto}]'],
  ['containerPort: must be from 1 to 65535, not 65536', container('ports: [{containerPort: 65536}]')],
  ['hostPort: must be from 0 to 65535', container('ports: [{containerPort: 1, hostPort: -1}]')],
  ['mountPath: required, but missing', `${container('volumeMounts: [{name: v, mountPath: ""}]')}\n${volume('emptyDir: {}')}`],
  ['volumes[0].configMap.name: required', volume('configMap: {}')],
  ['defaultMode: must be from 0 to 511, not 644', volume('configMap: {name: c, defaultMode: 644}')],
  [
    'periodSeconds: must be a 32-bit number, not 4294967296',
    container('securityContext: {}\nlivenessProbe: {grpc: {port: 1}, periodSeconds: 4294967296}'),
  ],
  ['exec.command: required, but missing', container('livenessProbe: {exec: {command: []}}')],
])('the values of a template have the fault %s', (fault, text) => {
  expect(faults(text)).toContainEqual(expect.stringContaining(fault));
});

test("the faults of a template's values have places in metadata and spec too", () => {
  expect(faults('spec:\n  containers:\n    - name: a\n      image: ""')).toEqual([
    'config:4:7: spec.containers[0].image: required: set the image to run',
  ]);
});

const TEMPLATE = `
metadata:
  labels: {team: a}
spec:
  initContainers:
    - name: setup
      image: setup:1
  containers:
    - name: envoy
      image: envoy:1
      args: [--x]
      resources:
        requests: {cpu: 100m, memory: 64Mi, ephemeral-storage: 1Gi}
        limits: {memory: 512Mi}
  volumes:
    - name: conf
      configMap: {name: envoy}
`;

function shapeOf(text: string): string {
  const parsed = parseTemplate('config', 'config', text);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.template.shape;
}

test.each([
  ['an image', 'image: envoy:1', 'image: envoy:2'],
  ['the image of an init container', 'image: setup:1', 'image: setup:2'],
  ['a request of cpu', 'cpu: 100m', 'cpu: 200m'],
  ['a limit of memory', 'limits: {memory: 512Mi}', 'limits: {memory: 1Gi}'],
  ['a limit more', 'limits: {memory: 512Mi}', 'limits: {memory: 512Mi, cpu: "1"}'],
  ['no limits at all', '        limits: {memory: 512Mi}\n', ''],
])("the hash of a template's shape stays with %s", (_, before, after) => {
  expect(TEMPLATE).toContain(before);
  expect(shapeOf(TEMPLATE.replace(before, after))).toBe(shapeOf(TEMPLATE));
});

test.each([
  ['an argument', '[--x]', '[--y]'],
  ['a volume', 'name: envoy}', 'name: other}'],
  ['another resource', 'ephemeral-storage: 1Gi', 'ephemeral-storage: 2Gi'],
  ['the name of a container', 'name: setup', 'name: prepare'],
  ['a container more', '  volumes:', '    - {name: more, image: m}\n  volumes:'],
  ['a label', 'team: a', 'team: b'],
  ['no labels', 'labels: {team: a}', 'annotations: {x: y}'],
])("the hash of a template's shape changes with %s", (_, before, after) => {
  expect(TEMPLATE).toContain(before);
  expect(shapeOf(TEMPLATE.replace(before, after))).not.toBe(shapeOf(TEMPLATE));
});

test("the hash of a template's shape is the same for a bare fragment of a spec", () => {
  const bare = 'containers: [{name: envoy, image: a}]';
  expect(shapeOf(`spec: {${bare}}`)).toBe(shapeOf(bare));
});
