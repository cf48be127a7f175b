import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { CEL_ALL_CONTAINERS } from '../../../../src/injection/podspec/cel.ts';
import { conflict } from '../../../../src/injection/rules/sidecar-rules.ts';
import { DEFAULT_TEMPLATE_NAME } from '../../../../src/injection/template/template-set.ts';
import { templateSet } from '../../../support/injection/demo.ts';

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
])('the ports %s are left to the webhook', (ports, taken) => {
  expect(conditionOf(withPorts(ports))).toEqual(amongPorts(taken));
});

test('the ports of init containers are left to the webhook, too', () => {
  const config = withPorts(
    '{containerPort: 1}',
    'initContainers: [{name: b, image: i, ports: [{containerPort: 2}]}]',
  );
  expect(conditionOf(config)).toEqual(amongPorts('p.containerPort in [1, 2]'));
});

test('a template that cannot conflict has no condition', () => {
  expect(conditionOf('containers: [{name: a, image: i}]')).toBeUndefined();
});

test('volumes, host aliases, variables, mounts and devices are left to the webhook', () => {
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
])('what says seccomp in the other way is left to the webhook: %s', (config, unless) => {
  expect(conditionOf(config)).toEqual({ unless: `(${unless})` });
});
