import { describe, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { POD_SCHEMA } from '../../../../src/injection/podspec/schema/pod-schema.ts';
import { strategicMerge } from '../../../../src/injection/podspec/strategic-merge.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

/** What it does, the base, what overrides it, the result, and the type if that is no Container. */
const table = load(`
- ['scalars: the value of over wins', {image: a, workingDir: /a}, {image: b}, {image: b, workingDir: /a}]
- [null counts as absent, {image: a}, {image: null}, {image: a}]
- [unknown fields as a whole, {future: {a: 1}}, {future: {b: 2}}, {future: {b: 2}}]
- [env by name, {env: [{name: A, value: '1'}, {name: B, value: '1'}]}, {env: [{name: C, value: '2'}, {name: A, value: '2'}]}, {env: [{name: A, value: '2'}, {name: B, value: '1'}, {name: C, value: '2'}]}]
- ['a reference to a resource as a whole, for its divisor fits no other resource', {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]}, {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}, {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]
- [a variable has either a value or a source, {env: [{name: A, value: '1'}]}, {env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]}, {env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]}]
- [a variable has one source, {env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}, {env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}, {env: [{name: A, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}]
- ['ports by containerPort and protocol, TCP being the default', {ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]}, {ports: [{containerPort: 53, protocol: TCP, name: dns-tcp}, {containerPort: 54}]}, {ports: [{containerPort: 53, protocol: TCP, name: dns-tcp}, {containerPort: 53, protocol: UDP}, {containerPort: 54}]}]
- [volumeMounts by mountPath, {volumeMounts: [{name: a, mountPath: /x, readOnly: true}]}, {volumeMounts: [{name: b, mountPath: /x}, {name: a, mountPath: /y}]}, {volumeMounts: [{name: b, mountPath: /x, readOnly: true}, {name: a, mountPath: /y}]}]
- [volumeDevices by devicePath, {volumeDevices: [{name: a, devicePath: /dev/x}]}, {volumeDevices: [{name: b, devicePath: /dev/x}]}, {volumeDevices: [{name: b, devicePath: /dev/x}]}]
- [a volume keeps one source (retainKeys), {name: v, emptyDir: {}}, {name: v, configMap: {name: c}}, {name: v, configMap: {name: c}}, Volume]
- [a volume of the same source is merged, {name: v, configMap: {name: c, defaultMode: 256}}, {name: v, configMap: {name: d}}, {name: v, configMap: {name: d, defaultMode: 256}}, Volume]
- [maps key by key, {resources: {limits: {cpu: '1', memory: 1Gi}}}, {resources: {limits: {cpu: '2'}}}, {resources: {limits: {cpu: '2', memory: 1Gi}}}]
- [objects field by field, {securityContext: {runAsUser: 1, readOnlyRootFilesystem: true}}, {securityContext: {runAsUser: 2}}, {securityContext: {runAsUser: 2, readOnlyRootFilesystem: true}}]
- [a probe has one handler, {readinessProbe: {httpGet: {port: 1}, periodSeconds: 5}}, {readinessProbe: {tcpSocket: {port: 2}}}, {readinessProbe: {tcpSocket: {port: 2}, periodSeconds: 5}}]
- [a handler of the same kind is merged, {readinessProbe: {httpGet: {port: 1, path: /ready}}}, {readinessProbe: {httpGet: {port: 2}}}, {readinessProbe: {httpGet: {port: 2, path: /ready}}}]
- [a hook has one handler, {lifecycle: {preStop: {sleep: {seconds: 1}}}}, {lifecycle: {preStop: {exec: {command: [a]}}}}, {lifecycle: {preStop: {exec: {command: [a]}}}}]
- [a seccomp profile as a whole, {securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}}, {securityContext: {seccompProfile: {type: RuntimeDefault}}}, {securityContext: {seccompProfile: {type: RuntimeDefault}}}]
- [args as a whole, {args: [a, b]}, {args: [c]}, {args: [c]}]
- [command as a whole, {command: [a, b]}, {command: [c]}, {command: [c]}]
- [envFrom as a whole, {envFrom: [{secretRef: {name: a}}]}, {envFrom: [{secretRef: {name: b}}]}, {envFrom: [{secretRef: {name: b}}]}]
- [resizePolicy as a whole, {resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]}, {resizePolicy: [{resourceName: memory, restartPolicy: NotRequired}]}, {resizePolicy: [{resourceName: memory, restartPolicy: NotRequired}]}]
- [capabilities as a whole, {securityContext: {capabilities: {add: [A], drop: [ALL]}}}, {securityContext: {capabilities: {add: [B]}}}, {securityContext: {capabilities: {add: [B], drop: [ALL]}}}]
`) as readonly [string, JsonObject, JsonObject, JsonObject, string?][];

describe('strategic merge', () => {
  test.each(table)('%s', (_, base, over, want, type = 'Container') => {
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
