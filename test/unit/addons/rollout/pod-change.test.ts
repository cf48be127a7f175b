import { expect, test } from '@jest/globals';
import { onKubelet, podChange } from '../../../../src/addons/rollout/pod-change.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { decideInput, OPT_IN, podWith, templateSet } from '../../../support/injection/demo.ts';
import { injectChecked } from '../../../support/injection/inject-checked.ts';

const OPTIONS = { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'envoy-initializer' };
const NOWHERE = { namespaceLabels: {} };
const TEMPLATE = {
  image: 'envoyproxy/envoy:v1',
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '512Mi' } } as JsonObject,
  args: ['--log-level', 'info'],
};
const APP = { name: 'app', image: 'app:1', resources: {} };

function set(
  changes: object = {},
  more: Readonly<Record<string, string>> = {},
  metadata?: JsonObject,
): TemplateSet {
  const volumeMounts = [{ name: 'envoy-conf', mountPath: '/etc/envoy' }];
  const spec = {
    containers: [{ name: 'envoy', volumeMounts, ...TEMPLATE, ...changes }],
    volumes: [{ name: 'envoy-conf', configMap: { name: 'envoy' } }],
  };
  return templateSet({ config: JSON.stringify(metadata ? { metadata, spec } : spec), ...more });
}

/** A pod as the webhook makes it of the templates, and as others change it afterwards. */
function podOf(
  from: TemplateSet,
  spec: JsonObject = {},
  change: (envoy: Record<string, unknown>) => void = () => {},
): JsonObject {
  const pod = podWith({ containers: [APP], ...spec }, { annotations: { [OPT_IN]: 'true' } });
  const { pod: injected } = injectChecked(decideInput(pod, { state: { set: from } }));
  const copy = structuredClone(injected) as { spec: Record<string, Record<string, unknown>[]> };
  const all = [...(copy.spec.containers ?? []), ...(copy.spec.initContainers ?? [])];
  change(all.find(({ name }) => name === 'envoy') ?? {});
  return copy as unknown as JsonObject;
}

const changeTo = (to: TemplateSet, pod = podOf(set()), from?: TemplateSet, restart?: boolean) =>
  podChange(pod, NOWHERE, to, OPTIONS, from, restart);

test('a pod gets a template in place that differs in the image', () => {
  expect(changeTo(set({ image: 'envoyproxy/envoy:v2' }))).toMatchObject({
    how: 'in-place',
    images: [
      {
        list: 'containers',
        index: 1,
        name: 'envoy',
        from: 'envoyproxy/envoy:v1',
        to: 'envoyproxy/envoy:v2',
      },
    ],
    resources: [],
    restarts: true,
  });
});

test('a pod gets a template in place that differs in cpu and memory, without a restart', () => {
  const resources = { requests: { cpu: '200m', memory: '65536Ki' }, limits: { memory: '1Gi', cpu: 1 } };
  expect(changeTo(set({ resources }))).toMatchObject({
    how: 'in-place',
    images: [],
    resources: [
      {
        name: 'envoy',
        to: { requests: { cpu: '200m', memory: '64Mi' }, limits: { memory: '1Gi', cpu: 1 } },
      },
    ],
    restarts: false,
  });
});

test('a pod gets a template in place with its overrides, where it has the sidecar', () => {
  const pod = podOf(set(), { restartPolicy: 'Never' });
  const annotations = {
    [`${OPT_IN}-cpu-request`]: '300m',
    ...((pod.metadata as JsonObject).annotations as object),
  };
  const changed = { ...pod, metadata: { ...(pod.metadata as JsonObject), annotations } };
  expect(changeTo(set({ image: 'envoyproxy/envoy:v2' }), changed)).toMatchObject({
    images: [{ list: 'initContainers', index: 0 }],
    resources: [{ to: { requests: { cpu: '300m' } } }],
  });
});

test('a pod that gets a template in place has the status of an injection with it', () => {
  const to = set({ image: 'envoyproxy/envoy:v2' });
  const { status } = injectChecked(
    decideInput(podWith({ containers: [APP] }, { annotations: { [OPT_IN]: 'true' } }), {
      state: { set: to },
    }),
  );
  expect(changeTo(to)).toMatchObject({ status });
});

test('a pod gets a template in place if a limit was added by others, and its templates are known', () => {
  const pod = podOf(set(), {}, (envoy) => {
    envoy.resources = { ...TEMPLATE.resources, limits: { memory: '512Mi', cpu: '2' } };
  });
  const to = set({ image: 'envoyproxy/envoy:v2' });
  expect(changeTo(to, pod, set())).toMatchObject({ how: 'in-place', resources: [] });
  expect(changeTo(to, pod)).toEqual({
    how: 'replace',
    why: 'container envoy has cpu limits, which cannot be removed in place',
  });
});

test('a changed configuration gives the image of a pod its other spelling', () => {
  expect(changeTo(set(), podOf(set()), undefined, true)).toMatchObject({
    how: 'in-place',
    images: [{ to: 'docker.io/envoyproxy/envoy:v1' }],
    restarts: true,
  });
});

test('the other spelling counts as the image of the template for a changed configuration', () => {
  const pod = podOf(set(), {}, (envoy) => {
    envoy.image = 'docker.io/envoyproxy/envoy:v1';
  });
  expect(changeTo(set({ image: 'envoyproxy/envoy:v2' }), pod, set())).toMatchObject({
    how: 'in-place',
  });
  expect(changeTo(set(), pod, undefined, true)).toMatchObject({
    images: [{ to: 'envoyproxy/envoy:v1' }],
  });
});

test('a pod whose image has no other spelling is replaced for a changed configuration', () => {
  const from = set({ image: 'quay.io/a/envoy:v1' });
  expect(changeTo(from, podOf(from), undefined, true)).toEqual({
    how: 'replace',
    why: 'image quay.io/a/envoy:v1 has no digest, so the container cannot restart in place',
  });
});

// biome-ignore format: a line for each case
test.each<[string, TemplateSet, JsonObject, TemplateSet | undefined, RegExp]>([
  ['for other arguments', set({ args: [] }), podOf(set()), undefined, /differ in more than images, cpu and memory/],
  ['for another label', set({}, {}, { labels: { a: 'b' } }), podOf(set()), undefined, /differ/],
  [
    'if its sidecar would be native now',
    set({ image: 'envoyproxy/envoy:v2' }, { options: 'nativeSidecar: always' }),
    podOf(set()),
    undefined,
    /containers differ: envoy here, none in a new pod/,
  ],
  ['if a limit goes away', set({ resources: {} }), podOf(set()), set(), /container envoy has memory limits, which cannot be removed in place/],
  [
    'if its image is not that of its template',
    set({ image: 'envoyproxy/envoy:v2' }),
    podOf(set(), {}, (envoy) => {
      envoy.image = 'mirror.example.com/envoy:v1';
    }),
    set(),
    /image mirror.example.com\/envoy:v1, not that of its template/,
  ],
])('a pod is replaced by a rollout %s', (_, to, pod, from, why) => {
  expect(changeTo(to, pod, from)).toEqual({ how: 'replace', why: expect.stringMatching(why) });
});

test.each([
  ['Never', 'replace'],
  ['Always', 'in-place'],
])(
  'a pod with restartPolicy %s on an old kubelet, which cannot restart native sidecars, is changed: %s',
  (restartPolicy, how) => {
    const change = changeTo(set({ image: 'envoyproxy/envoy:v2' }), podOf(set(), { restartPolicy }));
    if (change.how !== 'in-place') throw new Error('expected a change in place');
    expect(onKubelet(change, 'v1.32.0')).toBe(change);
    const why = /kubelet v1.31.14, which cannot restart native sidecars: upgrade it to v1.32/;
    expect(onKubelet(change, 'v1.31.14')).toMatchObject({
      how,
      ...(how === 'replace' && { why: expect.stringMatching(why) }),
    });
  },
);

test('a pod that would get no sidecar any more is refused by a rollout', () => {
  const to = set({ image: 'envoyproxy/envoy:v2', ports: [{ containerPort: 80 }] });
  const pod = podOf(set(), { containers: [{ ...APP, ports: [{ containerPort: 80 }] }] });
  expect(changeTo(to, pod)).toEqual({
    how: 'refused',
    why: expect.stringMatching(/^a new pod would get no sidecar: conflict: /),
  });
});
