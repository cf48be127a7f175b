import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { DecideInput } from '../../../src/injection/decision-input.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { podClassifier } from '../../../src/injection/pod-class.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import { POD_SHAPES, shapeFields } from '../../../src/injection/template/pod-shapes.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN, templateSet } from '../../support/injection/demo.ts';
import { WIDE_TEMPLATE } from '../../support/injection/near-pods.ts';

const options = { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' };
const setOf = (config: string, policy: object = {}) =>
  templateSet({ config, options: JSON.stringify(policy) });
const wide = setOf(WIDE_TEMPLATE);
const hooked = setOf(
  DEMO_TEMPLATE.replace('    image', '    lifecycle: {preStop: {sleep: {seconds: 40}}}\n    image'),
);

/** A pod that the template fits, with other fields. */
const pod = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name: 'pod', ...metadata },
  spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
});
const classOf = (of: JsonObject, set: TemplateSet = wide, more: Partial<DecideInput> = {}) =>
  podClassifier(
    set,
    options,
  )({
    request: podCreation('default'),
    pod: of,
    namespaceLabels: { [OPT_IN]: 'true' },
    ...more,
  });
const UNREAD: JsonObject = {
  ...{ activeDeadlineSeconds: 60, affinity: {}, automountServiceAccountToken: false, dnsPolicy: 'Default' },
  ...{ enableServiceLinks: false, hostname: 'h', nodeName: 'n', overhead: {}, preemptionPolicy: 'Never' },
  ...{ priority: 1, priorityClassName: 'p', readinessGates: [], runtimeClassName: 'r', schedulerName: 's' },
  ...{ schedulingGates: [], serviceAccount: 'a', serviceAccountName: 'a', shareProcessNamespace: true },
  ...{ subdomain: 's', tolerations: [], topologySpreadConstraints: [] },
};
const app = (its: JsonObject) =>
  pod({
    containers: [
      { name: 'app', image: 'busybox' },
      { name: 'b', ...its },
    ],
  });
const init = (its: JsonObject) => pod({ initContainers: [{ name: 'first', image: 'busybox', ...its }] });
const ported = (port: JsonObject) => ({ ports: [{ containerPort: 8080 }, port] });

describe('of one class are pods', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['with other containers', pod(), app({ ...ported({ containerPort: 81, hostPort: 81, name: 'web' }) })],
    ['with fields that injection does not read', pod(), pod(UNREAD)],
    ['with another node selector', pod(), pod({ nodeSelector: { 'kubernetes.io/os': 'linux' } })],
    [
      'with the default restart policy and grace period',
      pod(),
      pod({ restartPolicy: 'Always', terminationGracePeriodSeconds: 30 }),
    ],
    ['without a list, or with null', pod(), pod({ volumes: null, initContainers: null, dnsConfig: null })],
    ['with other items in lists', pod({ volumes: [] }), pod({ volumes: [{ name: 'data', emptyDir: {} }] })],
    ['with other keys in maps', pod({ securityContext: {} }), pod({ securityContext: { runAsUser: 1 } })],
    ['with other labels', pod({}, { labels: {} }), pod({}, { labels: { app: 'a' } })],
    [
      'with other annotations',
      pod({}, { annotations: {} }),
      pod({}, { annotations: { a: 'x'.repeat(43_000) } }),
    ],
    ['that opt in themselves', pod({}, { annotations: {} }), pod({}, { annotations: { [OPT_IN]: 'true' } })],
  ])('%s', (_, a, b) => {
    expect(classOf(a)).toBeDefined();
    expect(classOf(b)).toBe(classOf(a));
  });
});

describe('of different classes are pods', () => {
  test('for each list and map of the template, and each restart policy', () => {
    const different = [
      pod(),
      ...['initContainers', 'volumes', 'imagePullSecrets', 'hostAliases'].map((list) => pod({ [list]: [] })),
      ...['securityContext', 'dnsConfig'].map((map) => pod({ [map]: {} })),
      ...['labels', 'annotations'].map((map) => pod({}, { [map]: {} })),
      ...['Never', 'OnFailure'].map((restartPolicy) => pod({ restartPolicy })),
    ].map((each) => classOf(each));
    expect(different).not.toContain(undefined);
    expect(new Set(different).size).toBe(different.length);
  });

  test.each(POD_SHAPES)('for a shape with which a template may not fit: $name', (shape) => {
    expect(classOf(pod(shapeFields(shape)))).not.toBe(classOf(pod()));
  });

  test('but ports without a name or a port of the host are no conflict with others without', () => {
    const set = setOf(DEMO_TEMPLATE);
    expect(classOf(app(ported({ containerPort: 81 })), set)).toBeDefined();
    expect(classOf(app(ported({ containerPort: 81 })), set)).toBe(classOf(pod(), set));
  });

  test('but lists and maps to which the template does not add make no difference', () => {
    const set = setOf('containers: [{name: envoy, image: i}]\n');
    const with_ = pod({ volumes: [], hostAliases: [], dnsConfig: {}, securityContext: 'x' }, { labels: {} });
    expect(classOf(with_, set)).toBe(classOf(pod(), set));
  });

  test('a class is a small number', () => {
    const full = pod(
      {
        ...{ initContainers: [], volumes: [], imagePullSecrets: [], hostAliases: [] },
        ...{ securityContext: {}, dnsConfig: {}, restartPolicy: 'Never' },
      },
      { labels: {}, annotations: {} },
    );
    expect(classOf(full)).toBe(3 * 2 ** 8 - 1);
  });
});

describe('injection decides about pods', () => {
  const annotated = (key: string, value: JsonValue = 'x') => pod({}, { annotations: { [key]: value } });
  test.each<[string, JsonObject]>([
    ['without metadata', { spec: { containers: [{ name: 'app' }] } }],
    ['without a spec', { metadata: {} }],
    ['without containers', pod({ containers: [] })],
    ['with a container of the template', app({ name: 'envoy' })],
    ['with a container of the name of an init container of the template', app({ name: 'redirect' })],
    ['with an override of another container', app({ image: 'auto' })],
    ['with a port of the template', app(ported({ containerPort: 15001 }))],
    ['with a host port of the template', app(ported({ containerPort: 1, hostPort: 15002 }))],
    ['with the name of a port of the template', app(ported({ containerPort: 1, name: 'proxy' }))],
    ['with an init container of the template', init({ name: 'redirect' })],
    ['with an override that is an init container', init({ image: 'auto' })],
    [
      'with a native sidecar that has a port of the template',
      init({ restartPolicy: 'Always', ...ported({ containerPort: 15001 }) }),
    ],
    ['with init containers that are no list', pod({ initContainers: {} })],
    ['with init containers that are no objects', pod({ initContainers: [1] })],
    ['with a volume of the template', pod({ volumes: [{ name: 'data' }, { name: 'conf' }] })],
    ['with a pull secret of the template', pod({ imagePullSecrets: [{ name: 'registry' }] })],
    ['with a host alias of the template', pod({ hostAliases: [{ ip: '10.0.0.1' }] })],
    ['with a field of the template in the security context', pod({ securityContext: { fsGroup: 1 } })],
    ['with null for such a field', pod({ securityContext: { fsGroup: null } })],
    ['with a security context that is no map', pod({ securityContext: [] })],
    ['with a field of the template in the DNS settings', pod({ dnsConfig: { searches: [] } })],
    ['with a label of the template', pod({}, { labels: { mesh: '2' } })],
    ['with an annotation of the template', annotated('example.com/mesh')],
    ['with annotations that are no map', pod({}, { annotations: 'x' })],
    ['with annotations that are no text', annotated('a', 1)],
    ['with an unknown override', annotated(`${OPT_IN}-cpu-limits`)],
    ['with large annotations', annotated('a', 'x'.repeat(44_000))],
    ['with an overridden image', annotated(`${OPT_IN}-image`)],
    ['with overridden threads', annotated(`${OPT_IN}-concurrency`)],
    ['that select templates', annotated(`${OPT_IN}-templates`, 'config')],
    ['that say that they are injected', annotated(`${OPT_IN}-status`)],
    ['of the kubelet', annotated('kubernetes.io/config.mirror')],
    ['with a seccomp annotation', annotated('seccomp.security.alpha.kubernetes.io/pod')],
    ['that opt out', pod({}, { labels: { [OPT_IN]: 'false' } })],
    ['for Windows', pod({ os: { name: 'windows' } })],
    ['for nodes with Windows', pod({ nodeSelector: { 'kubernetes.io/os': 'windows' } })],
    ['with an unknown restart policy', pod({ restartPolicy: 'Sometimes' })],
    ['with a grace period that is no number', pod({ terminationGracePeriodSeconds: '30' })],
    ['on the network of the node', pod({ hostNetwork: true })],
    ['with resources of their own', pod({ resources: {} })],
    ['with fields from the future', pod({ fromTheFuture: {} })],
  ])('%s', (_, of) => {
    expect(classOf(of)).toBeUndefined();
  });

  test.each<[string, Partial<DecideInput>]>([
    ['that are not created', { request: { ...podCreation('default'), operation: 'UPDATE' } }],
    ['in the namespace of the operator', { request: podCreation('operator') }],
    ['in a namespace of the cluster', { request: podCreation('kube-system') }],
    ['in a namespace that selects templates', { namespaceTemplates: 'config' }],
    ['in a namespace that did not opt in', { namespaceLabels: {} }],
    [
      'under pod security',
      { namespaceLabels: { [OPT_IN]: 'true', 'pod-security.kubernetes.io/enforce': 'baseline' } },
    ],
  ])('%s', (_, more) => {
    expect(classOf(pod(), wide, more)).toBeUndefined();
  });

  test('whose grace period is shorter than the hooks of the template', () => {
    expect(classOf(pod(), hooked)).toBeUndefined();
    expect(classOf(pod({ terminationGracePeriodSeconds: 39 }), hooked)).toBeUndefined();
    expect(classOf(pod({ terminationGracePeriodSeconds: 40 }), hooked)).toBeDefined();
  });

  const long = (length: number) =>
    setOf(
      `metadata: {annotations: {a: ${'x'.repeat(length)}}}\nspec:\n  containers: [{name: a, image: i}]\n`,
    );
  test.each<[string, TemplateSet]>([
    ['comes first', setOf(DEMO_TEMPLATE, { position: 'first' })],
    ['captures', setOf(readFileSync('deploy/transparent/template.yaml', 'utf8'))],
    ['names the workload', setOf(DEMO_TEMPLATE.replace('--mode serve', `\${workload.name}`))],
    ['adds variables', setOf(`${DEMO_TEMPLATE}env: [{name: A, value: a}]\n`)],
    ['adds mounts', setOf(`${DEMO_TEMPLATE}volumeMounts: [{name: envoy-conf, mountPath: /a}]\n`)],
    [
      'sets seccomp by an annotation',
      setOf(
        `metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: a}}\nspec:\n  containers: [{name: a, image: i}]\n`,
      ),
    ],
    ['is large', long(22_000)],
    ['is missing', { ...wide, templates: new Map() }],
  ])('if the template %s', (_, set) => {
    expect(classOf(pod(), set)).toBeUndefined();
  });

  test('but not if the template is of a usual size', () => {
    expect(classOf(pod(), long(19_000))).toBeDefined();
  });
});
