import { expect, test } from '@jest/globals';
import { inject } from '../../../src/injection/inject.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, decideInput, podWith, templateSet } from '../../support/injection/demo.ts';
import { injectWith, namesOf, specOf } from '../../support/injection/inject-checked.ts';

const app: JsonObject = { name: 'app', image: 'busybox' };
const override: JsonObject = {
  name: 'envoy',
  image: 'auto',
  args: ['--mode validate'],
  resources: { limits: { cpu: '2' } },
  env: [{ name: 'A', value: 'own' }],
};
const templateEnvoy = () => ((specOf(injectWith({}).pod).containers as JsonObject[])[1] ?? {}) as JsonObject;

test("a container with the image auto is merged with the template's, in its own place", () => {
  const { pod, operations, status } = injectWith({ containers: [override, app] });
  expect(operations[0]).toMatchObject({ op: 'replace', path: '/spec/containers/0' });
  expect(specOf(pod).containers).toEqual([
    {
      ...templateEnvoy(),
      args: ['--mode validate'],
      resources: { limits: { cpu: '2', memory: '512Mi' }, requests: { cpu: '2', memory: '64Mi' } },
      env: [{ name: 'A', value: 'own' }],
    },
    app,
  ]);
  expect(status).toMatchObject({ added: { volumes: ['envoy-conf'] }, overlaid: { envoy: override } });
});

test('a container with the image auto does not override by empty values, which the API server drops', () => {
  const config = `containers:
- name: envoy
  image: i
  args: [a]
  tty: true
  workingDir: /w
  env: [{name: A, value: a}]
  volumeMounts: [{name: v, mountPath: /v, readOnly: true}]
  ports: [{containerPort: 80, hostPort: 80}]
  startupProbe: {httpGet: {port: 1}, initialDelaySeconds: 5}
volumes: [{name: v, emptyDir: {}}]`;
  const empty = {
    name: 'envoy',
    image: 'auto',
    args: [],
    tty: false,
    workingDir: '',
    env: [{ name: 'A', value: '' }],
    volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: false }],
    ports: [{ containerPort: 80, hostPort: 0 }],
    startupProbe: { initialDelaySeconds: 0 },
    stdin: null,
  };
  const plain = injectWith({}, { config }).pod;
  const { pod } = injectWith({ containers: [app, empty] }, { config });
  expect((specOf(pod).containers as JsonObject[])[1]).toEqual((specOf(plain).containers as JsonObject[])[1]);
});

test('a container with the image auto overrides by false, 0 and empty text where these are values', () => {
  const said = {
    args: ['', 'b'],
    securityContext: { privileged: false, runAsUser: 0, capabilities: {} },
    resources: { limits: { cpu: 0 }, requests: { cpu: 0 } },
  };
  const config = `containers: [{name: envoy, image: i, args: [a], securityContext: {privileged: true, runAsUser: 1}}]`;
  const { pod } = injectWith({ containers: [app, { name: 'envoy', image: 'auto', ...said }] }, { config });
  expect((specOf(pod).containers as JsonObject[])[1]).toEqual({ name: 'envoy', image: 'i', ...said });
});

test('a container with the image auto keeps its place if it becomes native', () => {
  const native = { ...override, restartPolicy: 'Always' };
  const { pod } = injectWith({
    containers: [app],
    initContainers: [native, { name: 'setup', image: 'i' }],
  });
  expect(namesOf(specOf(pod).initContainers)).toEqual(['envoy', 'setup']);
  expect(namesOf(specOf(pod).containers)).toEqual(['app']);
});

test('a container with the image auto may be the only one: the pod is a gateway, even one that finishes', () => {
  const { pod } = injectWith({ containers: [override], restartPolicy: 'Never' });
  expect(specOf(pod).containers).toMatchObject([{ name: 'envoy', args: ['--mode validate'] }]);
  expect(specOf(pod)).not.toHaveProperty('initContainers');
});

test('a container with the image auto may have its own ports, which conflict only with other containers', () => {
  const ports = [{ containerPort: 80, name: 'http' }];
  const { pod } = injectWith({ containers: [app, { ...override, ports }] });
  expect(specOf(pod).containers).toMatchObject([
    {},
    { ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }] },
  ]);
  const taken = { ...app, ports: [{ containerPort: 81 }] };
  const clash = podWith({ containers: [taken, { ...override, ports: [{ containerPort: 81 }] }] });
  expect(inject(decideInput(clash))).toMatchObject({ skip: { reason: 'conflict' } });
});

test('a container with the image auto does not override by defaults of the API server', () => {
  const config = `
containers:
- name: envoy
  image: i
  imagePullPolicy: IfNotPresent
  terminationMessagePolicy: FallbackToLogsOnError
  readinessProbe: {grpc: {port: 1}, periodSeconds: 2}`;
  const defaulted = {
    name: 'envoy',
    image: 'auto',
    imagePullPolicy: 'Always',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    resources: {},
    readinessProbe: {
      grpc: { port: 7 },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 5,
    },
  };
  const { pod } = injectWith({ containers: [app, defaulted] }, { config });
  expect((specOf(pod).containers as JsonObject[])[1]).toEqual({
    name: 'envoy',
    image: 'i',
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    resources: {},
    readinessProbe: { grpc: { port: 7 }, periodSeconds: 2, failureThreshold: 5 },
  });
});

test('a container with the image auto is an invalid override if the API server would reject the result', () => {
  const greedy = { ...override, resources: { requests: { cpu: '3' } } };
  expect(inject(decideInput(podWith({ containers: [app, greedy] })))).toMatchObject({
    outcome: 'skipped',
    skip: {
      reason: 'invalid-override',
      diagnostics: [
        {
          message:
            'container envoy: resources.requests.cpu: 3 exceeds the limit 1000m: lower it, or raise the limit',
        },
      ],
    },
  });
});

test('a container with the image auto gets no variables of the application', () => {
  const config = `${DEMO_TEMPLATE}env: [{name: B, value: b}]`;
  const { status } = injectWith({ containers: [override, app] }, { config });
  expect(status.added.env).toEqual(['app/B']);
});

const stray = (name: string): JsonObject => ({ name, image: 'auto' });

test('a container with the image auto that no template names is reported, and the pod gets its sidecar', () => {
  const spec = { containers: [app, stray('envoi'), override], initContainers: [stray('warm-up')] };
  const { warnings, pod } = injectWith(spec);
  expect(namesOf(specOf(pod).containers)).toEqual(['app', 'envoi', 'envoy']);
  expect(warnings.map(({ reason, message }) => [reason, message])).toEqual(
    ['envoi', 'warm-up'].map((name) => [
      'invalid-override',
      `container ${name} has the image auto, but the template has no such container: name it envoy, or set an image`,
    ]),
  );
});

test('a container with the image auto is reported if the template has no container', () => {
  const { warnings } = injectWith(
    { containers: [app, stray('c')] },
    { config: 'env: [{name: A, value: a}]' },
  );
  expect(warnings[0]?.message).toBe(
    'container c has the image auto, but the template has no such container: set an image',
  );
});

test('a container with the image auto that no template names is refused if onConflict is deny', () => {
  const state = { set: templateSet({ config: DEMO_TEMPLATE, options: 'onConflict: deny' }) };
  expect(inject(decideInput(podWith({ containers: [app, stray('c')] }), { state }))).toMatchObject({
    outcome: 'denied',
    skip: { reason: 'invalid-override', diagnostics: { length: 1 } },
  });
});
