import { expect, test } from '@jest/globals';
import type { JsonObject } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN } from '../../support/injection/demo.ts';
import { injectWith, metadataOf, namesOf, specOf } from '../../support/injection/inject-checked.ts';

const app: JsonObject = { name: 'app', image: 'busybox' };

test('a template merges image pull secrets by name', () => {
  const config = 'imagePullSecrets: [{name: a}, {name: b}]';
  const { pod, status } = injectWith({ imagePullSecrets: [{ name: 'b' }, { name: 'c' }] }, { config });
  expect(namesOf(specOf(pod).imagePullSecrets)).toEqual(['b', 'c', 'a']);
  expect(status.added).toEqual({ imagePullSecrets: ['a'] });
});

test('a template merges host aliases by address', () => {
  const config = 'hostAliases: [{ip: 10.0.0.1, hostnames: [a]}, {ip: 10.0.0.2, hostnames: [b]}]';
  const own = { ip: '10.0.0.1', hostnames: ['x', 'a'] };
  const { pod, status } = injectWith({ hostAliases: [own] }, { config });
  expect(specOf(pod).hostAliases).toEqual([own, { ip: '10.0.0.2', hostnames: ['b'] }]);
  expect(status.added).toEqual({ hostAliases: ['10.0.0.2'] });
});

test("a template merges security context and DNS settings without changing the pod's own fields", () => {
  const config = `
securityContext: {fsGroup: 1, runAsUser: 2, seccompProfile: {type: Localhost, localhostProfile: p}}
dnsConfig: {nameservers: [10.0.0.1], searches: [a.b]}`;
  const { pod, status } = injectWith(
    {
      securityContext: { fsGroup: 7, seccompProfile: { type: 'RuntimeDefault' } },
      // An empty list equals an absent one.
      dnsConfig: { nameservers: [], searches: ['a.b'] },
    },
    { config },
  );
  expect(specOf(pod).securityContext).toEqual({
    fsGroup: 7,
    seccompProfile: { type: 'RuntimeDefault' },
    runAsUser: 2,
  });
  expect(specOf(pod).dnsConfig).toEqual({ nameservers: ['10.0.0.1'], searches: ['a.b'] });
  expect(status.added).toEqual({ securityContext: ['runAsUser'], dnsConfig: ['nameservers'] });
});

test.each<[JsonObject, JsonObject, string]>([
  [
    {},
    { annotations: { [OPT_IN]: 'true', 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' } },
    'securityContext: {seccompProfile: {type: RuntimeDefault}}',
  ],
  [
    { securityContext: { seccompProfile: { type: 'Unconfined' } } },
    {},
    'metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: runtime/default}}\nspec: {}',
  ],
])('a template merges nothing that says seccomp in the other way than a pod %j', (spec, metadata, config) => {
  const { pod, status } = injectWith(spec, { config }, metadata);
  expect(specOf(pod).securityContext).toEqual(spec.securityContext);
  expect(status.added).toEqual({});
});

test("a template merges labels and annotations without changing the pod's own values", () => {
  const config = 'metadata: {labels: {app: mesh, x/y: z}, annotations: {a/b~c: d}}\nspec: {}'.replace(
    '~',
    '-',
  );
  const { pod, status } = injectWith({}, { config });
  expect(metadataOf(pod).labels).toEqual({ app: 'myapp', 'x/y': 'z' });
  expect(metadataOf(pod).annotations).toMatchObject({ 'a/b-c': 'd' });
  expect(status.added).toEqual({ labels: ['x/y'], annotations: ['a/b-c'] });
});

const scraped = { 'prometheus.io/port': '15090', 'prometheus.io/scrape': 'true' };
test.each<[string, JsonObject, readonly string[]]>([
  ['all', { note: 'x' }, ['note', ...Object.keys(scraped)]],
  ['none, if the pod has one', { 'prometheus.io/scrape': 'true' }, ['prometheus.io/scrape']],
  ['none, if the pod has another one', { 'prometheus.io/path': '/m' }, ['prometheus.io/path']],
])('a template merges the annotations of Prometheus: %s', (_, annotations, keys) => {
  const config = `metadata: {annotations: ${JSON.stringify(scraped)}}\nspec: {}`;
  const { pod, status } = injectWith({}, { config }, { annotations: { [OPT_IN]: 'true', ...annotations } });
  const all = metadataOf(pod).annotations as JsonObject;
  expect(Object.keys(all).filter((key) => !key.startsWith(OPT_IN))).toEqual(keys);
  expect(all).toMatchObject(annotations);
  expect(status.added).toEqual(keys.length > 2 ? { annotations: Object.keys(scraped) } : {});
});

test.each<[string, JsonObject, JsonObject]>([
  ['seccomp.security.alpha.kubernetes.io/pod', { securityContext: { seccompProfile: { type: 'A' } } }, {}],
  ['seccompProfile', {}, { 'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default' }],
])('a template merges the label %s, which says nothing about seccomp', (key, spec, annotations) => {
  const config = `metadata: {labels: {${key}: x}}\nspec: {}`;
  const { status } = injectWith(spec, { config }, { annotations: { [OPT_IN]: 'true', ...annotations } });
  expect(status.added).toEqual({ labels: [key] });
});

test("a template merges into the application's containers, by variable name and mount path", () => {
  const config = `
env: [{name: A, value: template}, {name: B, value: template}]
volumeMounts: [{name: v, mountPath: /v}]
containers: [{name: side, image: i}]
volumes: [{name: v, emptyDir: {}}]`;
  const env = [{ name: 'A', value: 'own' }];
  const { pod, status } = injectWith(
    {
      containers: [
        { ...app, env },
        { ...app, name: 'two' },
      ],
    },
    { config },
  );
  expect(specOf(pod).containers).toEqual([
    {
      ...app,
      env: [...env, { name: 'B', value: 'template' }],
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    },
    {
      ...app,
      name: 'two',
      env: [
        { name: 'A', value: 'template' },
        { name: 'B', value: 'template' },
      ],
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    },
    { name: 'side', image: 'i' },
  ]);
  expect(status.added).toMatchObject({
    env: ['app/B', 'two/A', 'two/B'],
    volumeMounts: ['app//v', 'two//v'],
  });
});

test('a template that only mounts changes the application, and a mount that is there stays alone', () => {
  const config = 'volumes: [{name: v, emptyDir: {}}]\nvolumeMounts: [{name: v, mountPath: /v}]';
  const mounted = { ...app, volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  const spec = { containers: [mounted, { ...app, name: 'two' }], volumes: [{ name: 'v', emptyDir: {} }] };
  const { pod, status } = injectWith(spec, { config });
  expect(specOf(pod).containers).toEqual([mounted, { ...mounted, name: 'two' }]);
  expect(status.added).toEqual({ volumeMounts: ['two//v'] });
});

const two =
  'initContainers: [{name: i1, image: i}, {name: i2, image: i}]\ncontainers: [{name: s1, image: i}, {name: s2, image: i}]';
const own = { containers: [app], initContainers: [{ name: 'setup', image: 'i' }] };

test('a sidecar is before the others if position is first, with an annotation for kubectl', () => {
  const { pod, status } = injectWith(own, { config: two, options: 'position: first' });
  expect(namesOf(specOf(pod).containers)).toEqual(['s1', 's2', 'app']);
  expect(namesOf(specOf(pod).initContainers)).toEqual(['i1', 'i2', 'setup']);
  expect(metadataOf(pod).annotations).toMatchObject({ 'kubectl.kubernetes.io/default-container': 'app' });
  expect(status.added.annotations).toEqual(['kubectl.kubernetes.io/default-container']);
});

test('a sidecar with position: first does not change the default container of the user', () => {
  const annotations = { [OPT_IN]: 'true', 'kubectl.kubernetes.io/default-container': 'mine' };
  const { pod } = injectWith(own, { config: two, options: 'position: first' }, { annotations });
  expect(metadataOf(pod).annotations).toMatchObject(annotations);
});

const restartPolicies: [string, string | undefined, string, boolean][] = [
  ['jobs', undefined, 'of a pod that runs on', false],
  ['jobs', 'Always', 'of a pod that runs on', false],
  ['jobs', 'OnFailure', 'of a pod that ends', true],
  ['jobs', 'Never', 'of a pod that ends', true],
  ['always', 'Always', 'of a pod that runs on', true],
  ['never', 'Never', 'of a pod that ends', false],
];
test.each(restartPolicies)(
  'a sidecar is native by nativeSidecar: %s, restartPolicy: %s',
  (option, restartPolicy, _, native) => {
    const spec = restartPolicy === undefined ? {} : { restartPolicy };
    const { pod } = injectWith(spec, { config: DEMO_TEMPLATE, options: `nativeSidecar: ${option}` });
    expect(namesOf(specOf(pod).containers)).toEqual(
      native ? ['myapp-container'] : ['myapp-container', 'envoy'],
    );
    const envoy = { name: 'envoy', restartPolicy: 'Always', ports: [{ containerPort: 80, protocol: 'TCP' }] };
    if (native) expect(specOf(pod).initContainers).toMatchObject([envoy]);
    else expect(specOf(pod)).not.toHaveProperty('initContainers');
  },
);

const data = {
  config: DEMO_TEMPLATE,
  'config.logs':
    'containers: [{name: logs, image: l}]\nvolumes: [{name: envoy-conf, configMap: {name: envoy}}]',
  'config.clash': 'containers: [{name: clash, image: c, ports: [{containerPort: 80}]}]',
  'config.env': 'env: [{name: A, value: b}]',
};
const asking = (names: string) => ({ annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: names } });

test('several templates are merged in the order in which they are named', () => {
  const { pod, status } = injectWith({}, data, asking('logs, config'));
  expect(namesOf(specOf(pod).containers)).toEqual(['myapp-container', 'logs', 'envoy']);
  expect(namesOf(specOf(pod).volumes)).toEqual(['envoy-conf']);
  expect(status.templates.map(({ name }) => name)).toEqual(['logs', 'config']);
});

test('several templates change the application, and not the additions of each other', () => {
  const { status } = injectWith({}, data, asking('config,env'));
  expect(status.added.env).toEqual(['myapp-container/A']);
});

test('several templates that conflict with each other are not added', () => {
  expect(() => injectWith({}, data, asking('config,clash'))).toThrow(
    "spec.containers[name=envoy].ports[containerPort=80/TCP]: the template's container clash also uses it: change one of the ports",
  );
});
