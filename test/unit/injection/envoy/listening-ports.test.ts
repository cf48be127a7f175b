import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { ENVOY_FILES, type EnvoyFiles } from '../../../../src/injection/envoy/files.ts';
import { listeningPorts } from '../../../../src/injection/envoy/listening-ports.ts';
import { inject } from '../../../../src/injection/inject.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { conflict } from '../../../../src/injection/rules/sidecar-rules.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../../src/injection/webhook/default-template.ts';
import { formatDiagnostic } from '../../../../src/util/diagnostic.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { decideInput, podWith, templateSet } from '../../../support/injection/demo.ts';

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

describe('a sidecar listens on', () => {
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
  ])('%s', (_, container, ports) => {
    const files = { 'e.yaml': YAML, 'bad.json': YAML, 'long.yaml': `${YAML}#${'x'.repeat(50_000)}` };
    expect(portsOf(container, files)).toEqual(ports);
  });

  test('the ports of a file that the volume gives another path', () => {
    const items = [{ key: 'e.yaml', path: 'boot/envoy.yaml' }];
    const volume = { name: 'conf', projected: { sources: [{ configMap: { name: 'envoy', items } }] } };
    expect(portsOf(mounted('/etc/envoy/boot/envoy.yaml'), { 'e.yaml': YAML }, [volume])).toHaveLength(3);
    expect(
      portsOf(mounted('/etc/envoy/boot/envoy.yaml'), { 'e.yaml': YAML }, [
        { name: 'conf', configMap: { name: 'mine' } },
      ]),
    ).toEqual([]);
  });
});

describe('an application on a port that the sidecar does not declare', () => {
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
  ])('%s', (_, config, port, files, isTaken) => {
    expect(answer(config, port, files)).toBe(isTaken ? inTheWay(port) : 'injected');
  });

  test('is left to the webhook by a policy', () => {
    const [template] = templateSet({ config: DEFAULT_TEMPLATE_YAML }).templates.values();
    if (!template) throw new Error('no template');
    const cel = (envoyFiles: readonly EnvoyFiles[]) =>
      conflict.cel({ audience: 'pod', keys: keysFor(), template, envoyFiles })?.unless;
    expect(cel([])).toContain('p.containerPort in [80, 15090, 15021]');
    expect(cel([ENVOY_FILES])).toContain('p.containerPort in [80, 15090, 15021, 9901]');
    const own = { 'envoy.json': '{"admin": {"address": {"socket_address": {"port_value": 7}}}}' };
    expect(cel([ENVOY_FILES, own])).toContain('p.containerPort in [80, 15090, 15021, 9901, 7]');
  });

  test('is in the way of a second template, too', () => {
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
});
