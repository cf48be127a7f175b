import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../../../src/json/json.ts';
import { inject } from '../../../src/sidecar/inject.ts';
import { DEMO_TEMPLATE, decideInput, podWith, templateSet } from '../../support/demo.ts';
import { injectChecked } from '../../support/inject-checked.ts';

const app = (more: JsonObject): JsonObject => ({ name: 'app', image: 'busybox', ...more });
const ports = (...list: JsonObject[]): JsonObject => ({ containers: [app({ ports: list })] });

/** A template with one of everything that can conflict. */
const CONFIG = `
initContainers: [{name: setup, image: i, ports: [{containerPort: 9}]}]
containers: [{name: envoy, image: i, ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP, hostPort: 5353}]}]
volumes: [{name: conf, configMap: {name: envoy}}, {name: tmp, emptyDir: {}}]
hostAliases: [{ip: 10.1.1.1, hostnames: [a.example, b.example]}]
volumeMounts: [{name: tmp, mountPath: /tmp/envoy}]
`;
const state = () => ({ set: templateSet({ config: CONFIG }) });

describe('inject reports by its path', () => {
  test.each<[string, JsonObject, string]>([
    [
      'an init container with that name',
      { initContainers: [app({ name: 'setup' })] },
      'spec.initContainers[name=setup]: the template has a container of this name: rename one of them',
    ],
    [
      "a container of an init container's name",
      { containers: [app({ name: 'setup' })] },
      'spec.containers[name=setup]: the template has a container of this name: rename one of them',
    ],
    [
      'a port',
      ports({ containerPort: 80 }),
      "spec.containers[name=app].ports[containerPort=80/TCP]: the template's container envoy uses it too: change one of the ports",
    ],
    [
      'a port of a native sidecar',
      { initContainers: [app({ name: 'mesh', restartPolicy: 'Always', ports: [{ containerPort: 80 }] })] },
      "spec.initContainers[name=mesh].ports[containerPort=80/TCP]: the template's container envoy uses it too: change one of the ports",
    ],
    [
      'a host port',
      ports({ containerPort: 1, protocol: 'UDP', hostPort: 5353, hostIP: '0.0.0.0' }),
      "spec.containers[name=app].ports[hostPort=5353/UDP]: the template's container envoy uses it too: change one of the ports",
    ],
    [
      'a host port of one address',
      ports({ containerPort: 1, protocol: 'UDP', hostPort: 5353, hostIP: '10.0.0.1' }),
      "spec.containers[name=app].ports[hostPort=5353/UDP]: the template's container envoy uses it too: change one of the ports",
    ],
    [
      'a volume of another source',
      { volumes: [{ name: 'conf', emptyDir: {} }] },
      'spec.volumes[name=conf]: the template has another volume of this name: rename one of them',
    ],
    [
      'a volume of another ConfigMap',
      { volumes: [{ name: 'conf', configMap: { name: 'mine' } }] },
      'spec.volumes[name=conf]: the template has another volume of this name: rename one of them',
    ],
    [
      'a volume with other modes',
      { volumes: [{ name: 'conf', configMap: { name: 'envoy', defaultMode: 256 } }] },
      'spec.volumes[name=conf]: the template has another volume of this name: rename one of them',
    ],
    [
      'other names of an address',
      { hostAliases: [{ ip: '10.1.1.1', hostnames: ['a.example'] }] },
      'spec.hostAliases[ip=10.1.1.1]: the template has other names for this address: add them to the entry of the pod',
    ],
    [
      'another mount at a path',
      { containers: [app({ volumeMounts: [{ name: 'mine', mountPath: '/tmp/envoy' }] })] },
      'spec.containers[name=app].volumeMounts[mountPath=/tmp/envoy]: the template mounts tmp there: change one of the mount paths',
    ],
  ])('%s', (_, spec, message) => {
    expect(inject(decideInput(podWith(spec), { state: state() }))).toEqual({
      outcome: 'skipped',
      skip: { inject: false, reason: 'conflict', messages: [message], explicit: true, warn: true },
    });
  });

  test('all conflicts together', () => {
    const pod = podWith({ ...ports({ containerPort: 80 }), volumes: [{ name: 'conf', emptyDir: {} }] });
    expect(inject(decideInput(pod, { state: state() }))).toMatchObject({ skip: { messages: { length: 2 } } });
  });

  test('a conflict, and rejects the pod if onConflict is deny', () => {
    const deny = { set: templateSet({ config: DEMO_TEMPLATE, options: 'onConflict: deny' }) };
    expect(inject(decideInput(podWith(ports({ containerPort: 80 })), { state: deny }))).toMatchObject({
      outcome: 'denied',
      skip: { reason: 'conflict' },
    });
  });
});

describe('inject finds no conflict in', () => {
  test.each<[string, JsonObject]>([
    ['the same port of another protocol', ports({ containerPort: 80, protocol: 'UDP' })],
    ['TCP 53 beside UDP 53', ports({ containerPort: 53, protocol: 'TCP' })],
    [
      'a port of an init container that ends',
      { initContainers: [app({ name: 'first', ports: [{ containerPort: 80 }] })] },
    ],
    ["a port of the template's init container that ends", ports({ containerPort: 9 })],
    [
      'the same host port number of another protocol',
      ports({ containerPort: 1, protocol: 'TCP', hostPort: 5353 }),
    ],
    ['host port 0', ports({ containerPort: 1, protocol: 'UDP', hostPort: 0 })],
    [
      'the same volume with defaults',
      { volumes: [{ name: 'conf', configMap: { name: 'envoy', defaultMode: 420 } }] },
    ],
    [
      'the same volume with empty fields',
      {
        volumes: [{ name: 'conf', configMap: { name: 'envoy', items: [], optional: false }, emptyDir: null }],
      },
    ],
    ['the same volume with empty text', { volumes: [{ name: 'tmp', emptyDir: { medium: '' } }] }],
    [
      'an address with all the names and more',
      { hostAliases: [{ ip: '10.1.1.1', hostnames: ['c', 'b.example', 'a.example'] }] },
    ],
    [
      'the same mount',
      {
        volumes: [{ name: 'tmp', emptyDir: {} }],
        containers: [app({ volumeMounts: [{ name: 'tmp', mountPath: '/tmp/envoy' }] })],
      },
    ],
  ])('%s', (_, spec) => {
    injectChecked(decideInput(podWith(spec), { state: state() }));
  });
});
