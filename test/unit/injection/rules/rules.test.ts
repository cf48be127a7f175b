import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { inject } from '../../../../src/injection/inject.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { CEL_ALL_CONTAINERS } from '../../../../src/injection/podspec/cel.ts';
import { conflict, proxyUser } from '../../../../src/injection/rules/sidecar-rules.ts';
import {
  DEFAULT_TEMPLATE_NAME,
  parseTemplateConfigMap,
} from '../../../../src/injection/template/template-set.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { decideInput, podWith, templateSet } from '../../../support/injection/demo.ts';

function conditionOf(config: string) {
  const template = templateSet({ config }).templates.get(DEFAULT_TEMPLATE_NAME);
  if (!template) throw new Error('no template');
  return conflict.cel({ audience: 'pod', keys: keysFor(), template });
}

const withPorts = (ports: string, more = '') =>
  `containers: [{name: a, image: i, ports: [${ports}]}]\n${more}`;
const amongPorts = (taken: string) => ({
  unless: `(${CEL_ALL_CONTAINERS}.exists(c, has(c.ports) && c.ports.exists(p, ${taken})))`,
});

test.each([
  ['{containerPort: 80}, {containerPort: 80, protocol: UDP, hostPort: 0}', 'p.containerPort in [80]'],
  [
    '{containerPort: 80, hostPort: 81}, {containerPort: 82, hostPort: 83}',
    'p.containerPort in [80, 82] || (has(p.hostPort) && p.hostPort in [81, 83])',
  ],
  [
    '{containerPort: 80, name: web}, {containerPort: 81}, {containerPort: 82, name: admin}',
    'p.containerPort in [80, 81, 82] || (has(p.name) && p.name in ["web", "admin"])',
  ],
])('a policy leaves the ports %s to the webhook', (ports, taken) => {
  expect(conditionOf(withPorts(ports))).toEqual(amongPorts(taken));
});

test('a policy leaves the ports of init containers to the webhook, too', () => {
  const config = withPorts(
    '{containerPort: 1}',
    'initContainers: [{name: b, image: i, ports: [{containerPort: 2}]}]',
  );
  expect(conditionOf(config)).toEqual(amongPorts('p.containerPort in [1, 2]'));
});

test('a policy has no condition for a template that cannot conflict', () => {
  expect(conditionOf('containers: [{name: a, image: i}]')).toBeUndefined();
});

test('a policy leaves volumes, host aliases, variables, mounts and devices to the webhook', () => {
  const config = `
volumes: [{name: v, emptyDir: {}}]
hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
env: [{name: A, value: a}]
volumeMounts: [{name: v, mountPath: /conf/}]
`;
  expect(conditionOf(config)?.unless.split(' ||\n')).toEqual([
    '(has(object.spec.volumes) && object.spec.volumes.exists(i, i.name in ["v"]))',
    '(has(object.spec.hostAliases) && object.spec.hostAliases.exists(i, i.ip in ["10.0.0.1"]))',
    '(object.spec.containers.exists(c, has(c.env) && c.env.exists(i, i.name in ["A"])))',
    '(object.spec.containers.exists(c, has(c.volumeDevices) || has(c.volumeMounts) && c.volumeMounts.exists(m, ' +
      'm.mountPath in ["/conf"] || m.mountPath.matches("^[^/]|/[.]{0,2}(/|$)"))))',
  ]);
});

test.each([
  [
    'securityContext: {seccompProfile: {type: RuntimeDefault}}',
    'has(object.metadata.annotations) && "seccomp.security.alpha.kubernetes.io/pod" in object.metadata.annotations',
  ],
  [
    'metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: runtime/default}}\nspec: {}',
    'has(object.spec.securityContext) && has(object.spec.securityContext.seccompProfile)',
  ],
])('a policy leaves what says seccomp in the other way to the webhook: %s', (config, unless) => {
  expect(conditionOf(config)).toEqual({ unless: `(${unless})` });
});

const TRANSPARENT = readFileSync('deploy/transparent/template.yaml', 'utf8');
const uid = (runAsUser: number) => ({ securityContext: { runAsUser } });
const app = (fields: JsonObject = {}) => ({ name: 'a', image: 'b', ...fields });
const auto = (runAsUser: number) => ({ name: 'envoy', image: 'auto', ...uid(runAsUser) });

function warnings(spec: JsonObject, config = TRANSPARENT): readonly string[] {
  const set = templateSet({ config, options: 'position: last' });
  const injection = inject(decideInput(podWith(spec), { state: { set } }));
  return injection.outcome === 'injected' ? injection.warnings.map(({ message }) => message) : ['skipped'];
}

const bypass = (name: string, user = 1337) =>
  `container ${name} runs as user ${user}, Envoy's own, so its connections bypass Envoy: use another runAsUser`;
const loop = (user: number, of = 1337) =>
  `container envoy runs as user ${user}, but envoy-capture lets only user ${of} pass, so the proxy's own connections loop back: use runAsUser ${of}`;

// biome-ignore format: a line for each case
test.each<[string, JsonObject, readonly string[]]>([
  ['by itself', { containers: [app(uid(1337))] }, [bypass('a')]],
  ['by its pod', { ...uid(1337), containers: [app()] }, [bypass('a')]],
  ['not, by itself, but its pod', { ...uid(1337), containers: [app(uid(5))] }, []],
  ['not', { ...uid(5), containers: [app()] }, []],
  ['and restarts', { containers: [app()], initContainers: [{ ...app(uid(1337)), name: 'n', restartPolicy: 'Always' }] }, [bypass('n')]],
  // It ends before the rules are there.
  ['and ends', { containers: [app()], initContainers: [{ ...app(uid(1337)), name: 'i' }] }, []],
])('a warning says that a container runs as Envoy %s', (_, spec, expected) => {
  expect(warnings(spec)).toEqual(expected);
});

// biome-ignore format: a line for each case
test.each<[string, string, readonly string[]]>([
  ['1500 by PROXY_UID', TRANSPARENT.replace('env:', 'env:\n      - {name: PROXY_UID, value: "1500"}'), [bypass('a', 1500), loop(1337, 1500)]],
  [
    '1500 by a flag',
    TRANSPARENT.replace('[sh, /etc/envoy/capture.sh]', '[istio-iptables, -u, "1500"]'),
    [bypass('a', 1500), loop(1337, 1500)],
  ],
  [
    '1500 by a script',
    TRANSPARENT.replace(
      '[sh, /etc/envoy/capture.sh]',
      '[sh, -c, "PROXY_UID=1500; . /etc/envoy/capture.sh"]',
    ),
    [bypass('a', 1500), loop(1337, 1500)],
  ],
  ['1337 by an empty PROXY_UID', TRANSPARENT.replace('env:', 'env:\n      - {name: PROXY_UID, value: ""}'), [bypass('b')]],
  ['1337 with all rights', TRANSPARENT.replace('add: [NET_ADMIN]', 'add: [ALL]'), [bypass('b')]],
  ['of a template that does not capture', TRANSPARENT.replace('add: [NET_ADMIN]', 'add: [CHOWN]'), []],
  ['of one that does not say', TRANSPARENT.replace('[sh, /etc/envoy/capture.sh]', '[rules]'), []],
])('a warning says that a container runs as Envoy’s user: %s', (_, config, expected) => {
  const containers = [app(uid(1500)), { ...app(uid(1337)), name: 'b' }];
  expect(warnings({ containers }, config)).toEqual(expected);
});

test('a warning says that a pod keeps the rules of its template from it', () => {
  const initContainers = [{ name: 'envoy-capture', image: 'auto', command: ['true'] }];
  expect(warnings({ containers: [app()], initContainers })).toEqual([
    expect.stringMatching(/^container envoy-capture is overridden and captures nothing/),
  ]);
});

test('a warning says that Envoy runs as another user by an override of the pod', () => {
  expect(warnings({ containers: [app(), auto(2000)] })).toEqual([loop(2000)]);
  expect(warnings({ containers: [app(), auto(1337)] })).toEqual([]);
});

test('a warning says that Envoy runs as another user by the pod, if the template says no user', () => {
  const config = TRANSPARENT.replace('runAsUser: 1337', '');
  expect(warnings({ ...uid(2000), containers: [app(uid(5))] }, config)).toEqual([loop(2000)]);
  expect(warnings({ containers: [app()] }, config)).toEqual([]);
});

test('lint warns that Envoy runs as another user by the template', () => {
  const parsed = parseTemplateConfigMap({
    config: TRANSPARENT.replace('runAsUser: 1337', 'runAsUser: 2000'),
  });
  expect('advice' in parsed && parsed.advice.map(({ message }) => message)).toContain(loop(2000));
});

// biome-ignore format: a line for each case
test.each<[string, string, string | undefined]>([
  [
    'its own user',
    TRANSPARENT,
    'has(object.spec.securityContext) && has(object.spec.securityContext.runAsUser) && object.spec.securityContext.runAsUser == 1337',
  ],
  ['no user', TRANSPARENT.replace('runAsUser: 1337', ''), 'has(object.spec.securityContext) && has(object.spec.securityContext.runAsUser))'],
  ['another', TRANSPARENT.replace('runAsUser: 1337', 'runAsUser: 2000'), 'true'],
  ['that of all containers', `${TRANSPARENT}securityContext: {runAsUser: 1337}`, 'true'],
  ['no capture', TRANSPARENT.replace('add: [NET_ADMIN]', 'add: [CHOWN]'), undefined],
])('a policy leaves containers with the user of Envoy to the webhook; Envoy has %s', (_, config, condition) => {
  const template = templateSet({ config }).templates.get('config');
  if (!template) throw new Error('no template');
  const found = proxyUser.cel({ audience: 'pod', keys: keysFor(), template });
  if (condition === undefined) expect(found).toBeUndefined();
  else expect(found?.unless).toContain(condition);
});
