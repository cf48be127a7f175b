import { describe, expect, test } from '@jest/globals';
import { POD_SCHEMA } from '../../../../src/injection/podspec/schema/pod-schema.ts';
import { strategicMerge } from '../../../../src/injection/podspec/strategic-merge.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

interface Case {
  readonly name: string;
  readonly type?: string;
  readonly base: JsonObject;
  readonly over: JsonObject;
  readonly want: JsonObject;
}

const table: readonly Case[] = [
  {
    name: 'scalars: the value of over wins',
    base: { image: 'a', workingDir: '/a' },
    over: { image: 'b' },
    want: { image: 'b', workingDir: '/a' },
  },
  {
    name: 'null counts as absent',
    base: { image: 'a' },
    over: { image: null },
    want: { image: 'a' },
  },
  {
    name: 'unknown fields as a whole',
    base: { future: { a: 1 } },
    over: { future: { b: 2 } },
    want: { future: { b: 2 } },
  },
  {
    name: 'env by name',
    base: {
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '1' },
      ],
    },
    over: {
      env: [
        { name: 'C', value: '2' },
        { name: 'A', value: '2' },
      ],
    },
    want: {
      env: [
        { name: 'A', value: '2' },
        { name: 'B', value: '1' },
        { name: 'C', value: '2' },
      ],
    },
  },
  {
    name: 'a reference to a resource as a whole, for its divisor fits no other resource',
    base: {
      env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } }],
    },
    over: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }] },
    want: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }] },
  },
  {
    name: 'a variable has either a value or a source',
    base: { env: [{ name: 'A', value: '1' }] },
    over: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'x' } } }] },
    want: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'x' } } }] },
  },
  {
    name: 'a variable has one source',
    base: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
    over: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
    want: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
  },
  {
    name: 'ports by containerPort and protocol, TCP being the default',
    base: { ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }] },
    over: { ports: [{ containerPort: 53, protocol: 'TCP', name: 'dns-tcp' }, { containerPort: 54 }] },
    want: {
      ports: [
        { containerPort: 53, protocol: 'TCP', name: 'dns-tcp' },
        { containerPort: 53, protocol: 'UDP' },
        { containerPort: 54 },
      ],
    },
  },
  {
    name: 'volumeMounts by mountPath',
    base: { volumeMounts: [{ name: 'a', mountPath: '/x', readOnly: true }] },
    over: {
      volumeMounts: [
        { name: 'b', mountPath: '/x' },
        { name: 'a', mountPath: '/y' },
      ],
    },
    want: {
      volumeMounts: [
        { name: 'b', mountPath: '/x', readOnly: true },
        { name: 'a', mountPath: '/y' },
      ],
    },
  },
  {
    name: 'volumeDevices by devicePath',
    base: { volumeDevices: [{ name: 'a', devicePath: '/dev/x' }] },
    over: { volumeDevices: [{ name: 'b', devicePath: '/dev/x' }] },
    want: { volumeDevices: [{ name: 'b', devicePath: '/dev/x' }] },
  },
  {
    name: 'a volume keeps one source (retainKeys)',
    type: 'Volume',
    base: { name: 'v', emptyDir: {} },
    over: { name: 'v', configMap: { name: 'c' } },
    want: { name: 'v', configMap: { name: 'c' } },
  },
  {
    name: 'a volume of the same source is merged',
    type: 'Volume',
    base: { name: 'v', configMap: { name: 'c', defaultMode: 256 } },
    over: { name: 'v', configMap: { name: 'd' } },
    want: { name: 'v', configMap: { name: 'd', defaultMode: 256 } },
  },
  {
    name: 'maps key by key',
    base: { resources: { limits: { cpu: '1', memory: '1Gi' } } },
    over: { resources: { limits: { cpu: '2' } } },
    want: { resources: { limits: { cpu: '2', memory: '1Gi' } } },
  },
  {
    name: 'objects field by field',
    base: { securityContext: { runAsUser: 1, readOnlyRootFilesystem: true } },
    over: { securityContext: { runAsUser: 2 } },
    want: { securityContext: { runAsUser: 2, readOnlyRootFilesystem: true } },
  },
  {
    name: 'a probe has one handler',
    base: { readinessProbe: { httpGet: { port: 1 }, periodSeconds: 5 } },
    over: { readinessProbe: { tcpSocket: { port: 2 } } },
    want: { readinessProbe: { tcpSocket: { port: 2 }, periodSeconds: 5 } },
  },
  {
    name: 'a handler of the same kind is merged',
    base: { readinessProbe: { httpGet: { port: 1, path: '/ready' } } },
    over: { readinessProbe: { httpGet: { port: 2 } } },
    want: { readinessProbe: { httpGet: { port: 2, path: '/ready' } } },
  },
  {
    name: 'a hook has one handler',
    base: { lifecycle: { preStop: { sleep: { seconds: 1 } } } },
    over: { lifecycle: { preStop: { exec: { command: ['a'] } } } },
    want: { lifecycle: { preStop: { exec: { command: ['a'] } } } },
  },
  {
    name: 'a seccomp profile as a whole',
    base: { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'p' } } },
    over: { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
    want: { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
  },
  ...['args', 'command'].map((field) => ({
    name: `${field} as a whole`,
    base: { [field]: ['a', 'b'] },
    over: { [field]: ['c'] },
    want: { [field]: ['c'] },
  })),
  {
    name: 'envFrom as a whole',
    base: { envFrom: [{ secretRef: { name: 'a' } }] },
    over: { envFrom: [{ secretRef: { name: 'b' } }] },
    want: { envFrom: [{ secretRef: { name: 'b' } }] },
  },
  {
    name: 'resizePolicy as a whole',
    base: { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] },
    over: { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'NotRequired' }] },
    want: { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'NotRequired' }] },
  },
  {
    name: 'capabilities as a whole',
    base: { securityContext: { capabilities: { add: ['A'], drop: ['ALL'] } } },
    over: { securityContext: { capabilities: { add: ['B'] } } },
    want: { securityContext: { capabilities: { add: ['B'], drop: ['ALL'] } } },
  },
];

describe('strategic merge', () => {
  test.each(table)('$name', ({ type = 'Container', base, over, want }) => {
    const [before, above] = [structuredClone(base), structuredClone(over)];
    expect(strategicMerge(base, over, type)).toEqual(want);
    expect([base, over]).toEqual([before, above]);
  });

  test('knows the merge keys of the OpenAPI of Kubernetes', () => {
    const keyed = Object.entries(POD_SCHEMA).flatMap(([type, fields]) =>
      Object.entries(fields).flatMap(([field, { mergeKeys }]) =>
        mergeKeys ? [`${type}.${field}: ${mergeKeys.join('+')}`] : [],
      ),
    );
    expect(keyed).toEqual([
      'Container.env: name',
      'Container.ports: containerPort+protocol',
      'Container.volumeDevices: devicePath',
      'Container.volumeMounts: mountPath',
      'ObjectMeta.ownerReferences: uid',
    ]);
  });
});
