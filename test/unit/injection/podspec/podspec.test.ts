import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { selects } from '../../../../src/cli/check/check-webhook.ts';
import { placeOf, UNCLEAN_PATH } from '../../../../src/injection/podspec/mount-path.ts';
import { isDnsLabel, isDnsSubdomain } from '../../../../src/injection/podspec/names.ts';
import { flagValue, troubleOf } from '../../../../src/injection/podspec/pod.ts';
import { formatQuantity, parseQuantity } from '../../../../src/injection/podspec/quantity.ts';
import { POD_SCHEMA } from '../../../../src/injection/podspec/schema/pod-schema.ts';
import { strategicMerge } from '../../../../src/injection/podspec/strategic-merge.ts';
import type { JsonObject, JsonValue } from '../../../../src/util/json.ts';

const LABELS = { app: 'web', tier: '' };
const expression = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

test.each<[JsonValue | undefined, boolean]>([
  [undefined, true],
  [{}, true],
  [{ matchLabels: { app: 'web' } }, true],
  [{ matchLabels: { app: 'web', gone: '' } }, false],
  [{ matchLabels: { tier: '' } }, true],
  [{ matchLabels: { constructor: 'x' } }, false],
  [expression('app', 'In', 'a', 'web'), true],
  [expression('app', 'In', 'a'), false],
  [expression('gone', 'In', 'a'), false],
  [expression('app', 'NotIn', 'web'), false],
  [expression('gone', 'NotIn', 'web'), true],
  [expression('tier', 'Exists'), true],
  [expression('constructor', 'Exists'), false],
  [expression('tier', 'DoesNotExist'), false],
  [expression('gone', 'DoesNotExist'), true],
  [expression('app', 'Gt', '1'), false],
  [{ matchLabels: { app: 'web' }, ...expression('tier', 'DoesNotExist') }, false],
])('the label selector %j selects app=web, tier=: %s', (selector, selected) => {
  expect(selects(selector, LABELS)).toBe(selected);
});

test.each([
  ['/conf', '/conf'],
  ['/conf/', '/conf'],
  ['//conf', '/conf'],
  ['/conf/.', '/conf'],
  ['/./conf', '/conf'],
  ['conf', '/conf'],
  ['/a/../conf', '/conf'],
  ['/..', '/'],
  ['/', '/'],
  ['/a/..b/.c/...', '/a/..b/.c/...'],
])('the place of the mount path %j is %s', (path, place) => {
  expect(placeOf(path)).toBe(place);
});

test('a place of a mount is clean and its own place, and only unclean paths have another', () => {
  const path = fc.array(fc.constantFrom('', '.', '..', 'a', '..b', 'c.'), { maxLength: 6 });
  fc.assert(
    fc.property(path, (segments) => {
      const text = segments.join('/');
      const place = placeOf(text);
      expect(placeOf(place)).toBe(place);
      expect(place === '/' || !new RegExp(UNCLEAN_PATH).test(place)).toBe(true);
      if (text !== '' && !new RegExp(UNCLEAN_PATH).test(text)) expect(place).toBe(text);
    }),
  );
});

const long = (length: number) => 'a'.repeat(length);

test.each<[string, (name: string) => boolean, string[], string[]]>([
  ['a DNS label', isDnsLabel, ['a', 'a-1', '0', long(63)], ['', 'A', '-a', 'a-', 'a.b', 'a_b', long(64)]],
  ['a DNS subdomain', isDnsSubdomain, ['a', 'a.b-c.1'], ['', 'a..b', '.a', 'A', `${long(63)}.`.repeat(4)]],
])('the name of %s is recognized', (_, is, good, bad) => {
  expect(good.filter((name) => !is(name))).toEqual([]);
  expect(bad.filter((name) => is(name))).toEqual([]);
});

const one = 1_000_000_000n;

test.each([
  ['1', one],
  ['100m', one / 10n],
  ['0.5', one / 2n],
  ['.5', one / 2n],
  ['5.', 5n * one],
  [0.25, one / 4n],
  [3, 3n * one],
  ['+1', one],
  ['-1', -one],
  ['1Ki', 1024n * one],
  ['1.5Gi', 1536n * 1024n * 1024n * one],
  ['512Mi', 512n * 1024n * 1024n * one],
  ['1k', 1000n * one],
  ['1E', 10n ** 18n * one],
  ['1Ei', 2n ** 60n * one],
  ['1e3', 1000n * one],
  ['1E3', 1000n * one],
  ['12e-1', (12n * one) / 10n],
  ['1n', 1n],
  ['1u', 1000n],
  ['0.1n', 1n],
  [1e21, 10n ** 21n * one],
])('a quantity of %s is read exactly', (text, want) => {
  expect(parseQuantity(text)).toBe(want);
});

test.each([
  '',
  '.',
  'm',
  '1 Gi',
  '1gi',
  '1K',
  '0x10',
  '1e',
  '1e999',
  'one',
  '--1',
  null,
  true,
  undefined,
  `${'9'.repeat(65)}`,
])('a quantity is not %j', (text) => {
  expect(parseQuantity(text)).toBeUndefined();
});

test.each<[bigint, string, string]>([
  [3n * one, '1', '3'],
  [one / 10n, '100m', '100m'],
  [one / 1000n / 1000n, '1', '1000n'],
  [64n * 1024n * one, '1Mi', '64Ki'],
  [1000n * one, '1Mi', '1000'],
  [2048n * one, '1k', '2048'],
])('a quantity of %d thousand-millionths is written like %s as %s', (amount, example, want) => {
  expect(formatQuantity(amount, example)).toBe(want);
  expect(parseQuantity(want)).toBe(amount);
});

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

test.each(table)('strategic merge %s', (_, base, over, want, type = 'Container') => {
  const [before, above] = [structuredClone(base), structuredClone(over)];
  expect(strategicMerge(base, over, type)).toEqual(want);
  expect([base, over]).toEqual([before, above]);
});

test('strategic merge knows the merge keys of the OpenAPI of Kubernetes', () => {
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

test.each<[JsonObject, string | undefined]>([
  [{ command: ['envoy', '-c', '/etc/a'] }, '/etc/a'],
  [{ args: ['--config=/etc/b'] }, '/etc/b'],
  [{ command: ['sh', '-c'], args: ['run --other /x; exec envoy --config "/etc/c"'] }, '/etc/c'],
  [{ command: ['sh', '-c', 'envoy'], args: ['--config', 'none'] }, undefined],
  [{ args: ['/etc/d'] }, undefined],
])('the value of a flag in the command line %j is %s', (container, value) => {
  expect(flagValue(container, ['--config', '-c'], /^\//)).toBe(value);
});

test.each<[JsonObject, string | undefined]>([
  [{}, undefined],
  [{ waiting: {} }, undefined],
  [{ waiting: { reason: 'ContainerCreating' } }, undefined],
  [{ waiting: { reason: 'PodInitializing' } }, undefined],
  [{ waiting: { reason: 'ErrImagePull' } }, 'ErrImagePull'],
  [{ waiting: { reason: 'ErrImagePull', message: 'no x' } }, 'ErrImagePull: no x'],
  [{ terminated: { exitCode: 0, reason: 'Completed' } }, undefined],
  [{ terminated: { exitCode: 2, reason: 'Error' } }, 'Error (exit code 2)'],
])('a container in the state %j has the trouble %s', (state, trouble) => {
  expect(troubleOf({ state })).toBe(trouble);
});
