import { expect, test } from '@jest/globals';
import { type Injection, inject } from '../../../src/injection/inject.ts';
import { formatDiagnostic } from '../../../src/util/diagnostic.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, decideInput, OPT_IN, podWith, templateSet } from '../../support/injection/demo.ts';
import { injectChecked } from '../../support/injection/inject-checked.ts';

type Skipped = Extract<Injection, { readonly skip: object }>;

const app = (more: JsonObject): JsonObject => ({ name: 'app', image: 'busybox', ...more });
const ports = (...list: JsonObject[]): JsonObject => ({ containers: [app({ ports: list })] });

/** A template with one of everything that can conflict. */
const CONFIG = `
initContainers: [{name: setup, image: i, ports: [{containerPort: 9, name: once}]}]
containers:
- {name: envoy, image: i, ports: [{containerPort: 80, name: web}, {containerPort: 53, protocol: UDP, hostPort: 5353, name: dns}]}
- {name: raw, image: i, volumeDevices: [{name: disk, devicePath: /dev/disk}]}
volumes:
- {name: conf, configMap: {name: envoy}}
- {name: tmp, emptyDir: {}}
- {name: data, persistentVolumeClaim: {claimName: data}}
- {name: disk, persistentVolumeClaim: {claimName: disk}}
hostAliases: [{ip: 10.1.1.1, hostnames: [a.example, b.example]}]
volumeMounts: [{name: tmp, mountPath: /tmp/envoy}, {name: data, mountPath: /data/}]
`;
const state = (options = '') => ({ set: templateSet({ config: CONFIG, options }) });
const claimed = (claimName: string): JsonObject => ({
  name: claimName,
  persistentVolumeClaim: { claimName },
});
const dns = (protocol: string) => ({ containerPort: 1, name: 'dns', protocol });
const mesh = (more: JsonObject): JsonObject => app({ name: 'mesh', restartPolicy: 'Always', ...more });

const CONTAINER = 'the template has a container of this name: rename one of them';
const PORT = "the template's container envoy also uses it: change one of the ports";
const VOLUME = 'the template has another volume of this name: rename one of them';

// biome-ignore format: a line for each case
test.each<[string, string, JsonObject]>([
  ['spec.initContainers[name=setup]', CONTAINER, { initContainers: [app({ name: 'setup' })] }],
  ['spec.containers[name=setup]', CONTAINER, { containers: [app({ name: 'setup' })] }],
  ['spec.containers[name=setup]', CONTAINER, { containers: [app({}), app({ name: 'setup' })] }],
  ['spec.containers[name=app].ports[containerPort=80/TCP]', PORT, ports({ containerPort: 80 })],
  [
    'spec.initContainers[name=mesh].ports[containerPort=80/TCP]',
    PORT,
    { initContainers: [app({ name: 'mesh', restartPolicy: 'Always', ports: [{ containerPort: 80 }] })] },
  ],
  ['spec.containers[name=app].ports[hostPort=5353/UDP]', PORT, ports({ containerPort: 1, protocol: 'UDP', hostPort: 5353, hostIP: '0.0.0.0' })],
  ['spec.containers[name=app].ports[hostPort=5353/UDP]', PORT, ports({ containerPort: 1, protocol: 'UDP', hostPort: 5353, hostIP: '10.0.0.1' })],
  ['spec.volumes[name=conf]', VOLUME, { volumes: [{ name: 'conf', emptyDir: {} }] }],
  ['spec.volumes[name=conf]', VOLUME, { volumes: [{ name: 'conf', configMap: { name: 'mine' } }] }],
  ['spec.volumes[name=conf]', VOLUME, { volumes: [{ name: 'conf', configMap: { name: 'envoy', defaultMode: 256 } }] }],
  [
    'spec.hostAliases[ip=10.1.1.1]',
    "the template has other names for this address: add them to the pod's entry",
    { hostAliases: [{ ip: '10.1.1.1', hostnames: ['a.example'] }] },
  ],
  [
    'spec.containers[name=app].volumeMounts[mountPath=/tmp/envoy]',
    'the template mounts tmp there: change one of the paths',
    { containers: [app({ volumeMounts: [{ name: 'mine', mountPath: '/tmp/envoy' }] })] },
  ],
  ...['/tmp/envoy/', '//tmp/envoy', '/tmp/envoy/.', 'tmp/./envoy', '/data'].map(
    (mountPath): [string, string, JsonObject] => [
      `spec.containers[name=app].volumeMounts[mountPath=${mountPath}]`,
      `the template mounts ${mountPath === '/data' ? 'data' : 'tmp'} there: change one of the paths`,
      { containers: [app({ volumeMounts: [{ name: 'mine', mountPath }] })] },
    ],
  ),
  [
    'spec.containers[name=app].volumeDevices[devicePath=/tmp//envoy]',
    'the template mounts tmp there: change one of the paths',
    { containers: [app({ volumeDevices: [{ name: 'mine', devicePath: '/tmp//envoy' }] })] },
  ],
  [
    'spec.initContainers[name=first].volumeDevices[name=data]',
    'the template mounts this volume, which cannot be a device at the same time: use another volume',
    {
      volumes: [claimed('data')],
      initContainers: [app({ name: 'first', volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] })],
    },
  ],
  [
    'spec.containers[name=app].volumeMounts[name=disk]',
    'the template uses this volume as a device, which cannot be mounted: use another volume',
    {
      volumes: [claimed('disk')],
      containers: [app({ volumeMounts: [{ name: 'disk', mountPath: '/x' }] })],
    },
  ],
  [
    'spec.initContainers[name=mesh].ports[name=dns]',
    "the template's container envoy is first and has a port of this name, so Services would use it: rename one of the ports",
    { initContainers: [mesh({ ports: [dns('UDP')] })] },
  ],
])('inject reports a conflict by its path: %s: %s', (path, words, spec) => {
  const { outcome, skip } = inject(decideInput(podWith(spec), { state: state() })) as Skipped;
  expect(outcome).toBe('skipped');
  expect(skip).toMatchObject({ inject: false, reason: 'conflict', explicit: true, warn: true });
  expect(skip.diagnostics.map(formatDiagnostic)).toEqual([`${path}: ${words}`]);
});

const first = (spec: JsonObject) => inject(decideInput(podWith(spec), { state: state('position: first') }));
const message = (path: string) =>
  `${path}.ports[name=dns]: the template's container envoy is first and has a port of this name, so Services would use it: rename one of the ports`;

test.each<[string, JsonObject, string]>([
  ['of a container', ports({ containerPort: 2 }, dns('UDP')), 'spec.containers[name=app]'],
  [
    'of a native sidecar behind the native sidecar',
    { restartPolicy: 'Never', initContainers: [mesh({ ports: [dns('UDP')] })] },
    'spec.initContainers[name=mesh]',
  ],
  [
    'of a container behind the override',
    {
      containers: [{ name: 'envoy', image: 'auto' }, app({ ports: [dns('UDP')] }), app({ name: 'last' })],
    },
    'spec.containers[name=app]',
  ],
  [
    'of a native sidecar behind the override',
    {
      restartPolicy: 'Never',
      initContainers: [
        app({ name: 'first' }),
        { name: 'envoy', image: 'auto' },
        mesh({ ports: [dns('UDP')] }),
        app({ name: 'last' }),
      ],
    },
    'spec.initContainers[name=mesh]',
  ],
])('inject reports with position: first a conflict of the port name %s', (_, spec, path) => {
  expect((first(spec) as Skipped).skip.diagnostics.map(formatDiagnostic)).toEqual([message(path)]);
});

// biome-ignore format: a line for each case
test.each<[string, JsonObject]>([
  ['of another protocol', ports(dns('TCP'))],
  ['of an init container that ends', { initContainers: [app({ name: 'first', ports: [dns('UDP')] })] }],
  ['of a container, if the sidecar is native', { restartPolicy: 'Never', ...ports(dns('UDP')) }],
  ['of a container before the override', { containers: [app({ ports: [dns('UDP')] }), { name: 'envoy', image: 'auto' }] }],
  ['of a native sidecar before the override', { restartPolicy: 'Never', initContainers: [mesh({ ports: [dns('UDP')] }), { name: 'envoy', image: 'auto' }] }],
  ["of the template's init container that ends", { initContainers: [mesh({ ports: [{ containerPort: 1, name: 'once' }] })] }],
  ['that the template does not have', ports({ containerPort: 1, name: 'other', protocol: 'UDP' })],
  ['that is empty', ports({ containerPort: 1, name: '' })],
])('inject finds no conflict with position: first of the port name %s', (_, spec) => {
  expect(first(spec).outcome).toBe('injected');
});

test('inject finds no conflict with position: first of a port name that neither has', () => {
  const config =
    'containers: [{name: a, image: i, ports: [{containerPort: 80, name: web}, {containerPort: 81}]}]';
  const set = templateSet({ config, options: 'position: first' });
  const pod = podWith(ports({ containerPort: 9 }));
  expect(inject(decideInput(pod, { state: { set } })).outcome).toBe('injected');
});

test('inject finds no conflict with position: first of a port name of another template', () => {
  const one = (name: string, port: number) =>
    `initContainers: [{name: ${name}, image: i, restartPolicy: Always, ports: [{containerPort: ${port}, name: web}]}]`;
  const set = templateSet({ config: one('a', 1), 'config.b': one('b', 2), options: 'position: first' });
  const pod = podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config,b' } });
  expect(inject(decideInput(pod, { state: { set } })).outcome).toBe('injected');
});

test('inject reports all conflicts together', () => {
  const pod = podWith({ ...ports({ containerPort: 80 }), volumes: [{ name: 'conf', emptyDir: {} }] });
  expect(inject(decideInput(pod, { state: state() }))).toMatchObject({
    skip: { diagnostics: { length: 2 } },
  });
});

test('inject reports a conflict, and rejects the pod if onConflict is deny', () => {
  const deny = { set: templateSet({ config: DEMO_TEMPLATE, options: 'onConflict: deny' }) };
  expect(inject(decideInput(podWith(ports({ containerPort: 80 })), { state: deny }))).toMatchObject({
    outcome: 'denied',
    skip: { reason: 'conflict' },
  });
});

// biome-ignore format: a line for each case
test.each<[string, JsonObject]>([
  ['the same port of another protocol', ports({ containerPort: 80, protocol: 'UDP' })],
  ['TCP 53 beside UDP 53', ports({ containerPort: 53, protocol: 'TCP' })],
  ['a port of an init container that ends', { initContainers: [app({ name: 'first', ports: [{ containerPort: 80 }] })] }],
  ["a port of the template's init container that ends", ports({ containerPort: 9 })],
  ['the same host port number of another protocol', ports({ containerPort: 1, protocol: 'TCP', hostPort: 5353 })],
  ['host port 0', ports({ containerPort: 1, protocol: 'UDP', hostPort: 0 })],
  ['the same volume with defaults', { volumes: [{ name: 'conf', configMap: { name: 'envoy', defaultMode: 420 } }] }],
  ['the same volume with empty fields', { volumes: [{ name: 'conf', configMap: { name: 'envoy', items: [], optional: false }, emptyDir: null }] }],
  ['the same volume with empty text', { volumes: [{ name: 'tmp', emptyDir: { medium: '' } }] }],
  ['an address with all the names and more', { hostAliases: [{ ip: '10.1.1.1', hostnames: ['c', 'b.example', 'a.example'] }] }],
  ['a port name of a container before the sidecar', ports(dns('UDP'))],
  [
    'the same volume mounted by both, and a device of both',
    {
      volumes: [claimed('data'), claimed('disk')],
      containers: [
        app({
          volumeMounts: [{ name: 'data', mountPath: '/x' }],
          volumeDevices: [{ name: 'disk', devicePath: '/dev/mine' }],
        }),
      ],
    },
  ],
  [
    'a mount of the override at the place of a mount for the application',
    {
      volumes: [{ name: 'mine', emptyDir: {} }],
      containers: [
        app({}),
        { name: 'envoy', image: 'auto', volumeMounts: [{ name: 'mine', mountPath: '/tmp/envoy' }] },
      ],
    },
  ],
  [
    'the same mount at another spelling of its path',
    {
      volumes: [{ name: 'tmp', emptyDir: {} }],
      containers: [app({ volumeMounts: [{ name: 'tmp', mountPath: '/tmp//envoy' }] })],
    },
  ],
  ['the same mount', { volumes: [{ name: 'tmp', emptyDir: {} }], containers: [app({ volumeMounts: [{ name: 'tmp', mountPath: '/tmp/envoy' }] })] }],
])('inject finds no conflict in %s', (_, spec) => {
  injectChecked(decideInput(podWith(spec), { state: state() }));
});
