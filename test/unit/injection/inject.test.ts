import { expect, test } from '@jest/globals';
import { inject } from '../../../src/injection/inject.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  STATUS,
  templateSet,
} from '../../support/injection/demo.ts';
import { injectChecked, metadataOf, specOf } from '../../support/injection/inject-checked.ts';

/** sha256 of the template as JSON with sorted keys, computed by another program. */
const DEMO_HASH = '0991134651f03939750ee33810addaa6f021f243b0288240c512048fa44c1b2f';
/** The same without image and resources. */
const DEMO_SHAPE = 'a8666d747cdd860162a16afa60d59717997ce4bccfa51519a2ecc3f477d1259e';

const ENVOY = {
  name: 'envoy',
  image: 'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1',
  command: ['/usr/local/bin/envoy'],
  args: ['--concurrency 4', '--config-path /etc/envoy/envoy.json', '--mode serve'],
  ports: [{ containerPort: 80, protocol: 'TCP' }],
  resources: { limits: { cpu: '1000m', memory: '512Mi' }, requests: { cpu: '100m', memory: '64Mi' } },
  volumeMounts: [{ name: 'envoy-conf', mountPath: '/etc/envoy' }],
};
const VOLUME = { name: 'envoy-conf', configMap: { name: 'envoy' } };
const STATUS_TEXT = `{"version":1,"templates":[{"name":"config","sha256":"${DEMO_HASH}","shape":"${DEMO_SHAPE}"}],"added":{"containers":["envoy"],"volumes":["envoy-conf"]}}`;
const STATUS_POINTER = '/metadata/annotations/initializer.kubernetes.io~1envoy-status';

test("the patch of the demo's pod is exactly this", () => {
  expect(injectChecked(decideInput(demoPod())).operations).toEqual([
    { op: 'add', path: '/spec/containers/-', value: ENVOY },
    { op: 'add', path: '/spec/volumes', value: [VOLUME] },
    { op: 'add', path: STATUS_POINTER, value: STATUS_TEXT },
  ]);
});

test("the demo's pod has the application untouched, then envoy, and its volume", () => {
  const { pod } = injectChecked(decideInput(demoPod()));
  expect(specOf(pod)).toEqual({
    containers: [...(specOf(demoPod()).containers as JsonObject[]), ENVOY],
    volumes: [VOLUME],
  });
  expect(metadataOf(pod)).toEqual({
    name: 'myapp-pod',
    labels: { app: 'myapp' },
    annotations: { [OPT_IN]: 'true', [STATUS]: STATUS_TEXT },
  });
});

test.each([
  ['missing', undefined],
  ['null', null],
])('a patch creates lists, maps and metadata that are %s', (_, absent) => {
  const spec = { containers: specOf(demoPod()).containers as JsonObject[], volumes: absent };
  const pod = JSON.parse(
    JSON.stringify({ metadata: { labels: { [OPT_IN]: 'true' }, annotations: absent }, spec }),
  );
  expect(injectChecked(decideInput(pod)).operations.slice(1)).toEqual([
    { op: 'add', path: '/spec/volumes', value: [VOLUME] },
    { op: 'add', path: '/metadata/annotations', value: { [STATUS]: STATUS_TEXT } },
  ]);
  const without = JSON.parse(JSON.stringify({ metadata: absent, spec: specOf(demoPod()) }));
  const input = decideInput(without, { namespaceLabels: { [OPT_IN]: 'true' } });
  expect(injectChecked(input).operations.slice(2)).toEqual([
    { op: 'add', path: '/metadata', value: {} },
    { op: 'add', path: '/metadata/annotations', value: { [STATUS]: STATUS_TEXT } },
  ]);
});

test('a patch of a pod reuses a volume of that name that differs only in defaults', () => {
  const defaulted = { name: 'envoy-conf', configMap: { name: 'envoy', defaultMode: 420 } };
  const { operations, pod, status } = injectChecked(decideInput(podWith({ volumes: [defaulted] })));
  expect(operations.map(({ path }) => path)).toEqual(['/spec/containers/-', STATUS_POINTER]);
  expect(specOf(pod).volumes).toEqual([defaulted]);
  expect(status.added).toEqual({ containers: ['envoy'] });
});

const template = `${DEMO_TEMPLATE}
env: [{name: PROXY, value: "1"}]
`;
const injected = (containers: number) =>
  inject(
    decideInput(
      podWith({
        containers: Array.from({ length: containers }, (_, i) => ({
          name: `app-${i}-${'x'.repeat(50)}`,
          image: 'busybox',
        })),
      }),
      { state: { set: templateSet({ config: template }) } },
    ),
  );

test('an addition to many containers goes to each of them, in the order of the pod', () => {
  const result = injected(100);
  if (result.outcome !== 'injected') throw new Error(JSON.stringify(result.skip));
  const paths = result.operations.map(({ path }) => path).filter((path) => path.endsWith('/env'));
  expect(paths).toEqual(Array.from({ length: 100 }, (_, i) => `/spec/containers/${i}/env`));
});

test('an addition to many containers is not made if its names exceed the size limit of annotations', () => {
  const result = injected(5_000);
  expect(result).toMatchObject({ outcome: 'skipped', skip: { reason: 'conflict' } });
  expect(result).toHaveProperty('skip.diagnostics.0.path', 'metadata.annotations');
});

const set = templateSet({
  config: DEMO_TEMPLATE,
  'config.gateway': 'containers: [{name: gateway, image: g}]',
  'config.second': 'containers: [{name: second, image: s}]',
});
const selecting = (own: string | undefined, namespaceTemplates: string | undefined) => {
  const annotations = { [OPT_IN]: 'true', ...(own !== undefined && { [`${OPT_IN}-templates`]: own }) };
  return decideInput(podWith({}, { annotations }), { state: { set }, namespaceTemplates });
};

test.each([
  [undefined, undefined, ['config'], 'default'],
  [undefined, 'gateway', ['gateway'], 'namespace'],
  [undefined, 'gateway, second', ['gateway', 'second'], 'namespace'],
  ['second', undefined, ['second'], 'pod'],
  ['second', 'gateway', ['second'], 'pod'],
  ['second', 'nope', ['second'], 'pod'],
])(
  'the templates of a pod that selects %s in a namespace that selects %s are %j',
  (own, namespace, names, selectedBy) => {
    const { status, ...rest } = injectChecked(selecting(own, namespace));
    expect(status.templates.map(({ name }) => name)).toEqual(names);
    expect(rest.selectedBy).toBe(selectedBy);
  },
);

test.each([
  [undefined, 'nope', 'namespace'],
  ['nope', 'gateway', 'pod'],
])(
  'the templates of a pod that selects %s in a namespace that selects %s do not exist',
  (own, namespace, by) => {
    expect(inject(selecting(own, namespace))).toHaveProperty(
      'skip.diagnostics.0.message',
      `the ${by}'s annotation ${OPT_IN}-templates names template "nope", which does not exist: use another, or add it to the ConfigMap`,
    );
  },
);

const LIMIT = 256 * 1024;
const sizeOf = (pod: JsonObject) =>
  Object.entries(metadataOf(pod).annotations ?? {})
    .flat()
    .reduce<number>((size, text) => size + (typeof text === 'string' ? Buffer.byteLength(text) : 0), 0);
const noted = (note: string, more: JsonObject = {}) =>
  decideInput(podWith({}, { annotations: { [OPT_IN]: 'true', note, ...more } }));
const room = LIMIT - sizeOf(injectChecked(noted('')).pod);

test('the annotations of a pod with its sidecar may be as large as the API server allows', () => {
  expect(sizeOf(injectChecked(noted('x'.repeat(room))).pod)).toBe(LIMIT);
  expect(sizeOf(injectChecked(noted('€'.repeat(room / 3))).pod)).toBeGreaterThan(LIMIT - 3);
});

test.each([['x'.repeat(room + 1)], ['€'.repeat(room / 3 + 1)]])(
  'the annotations of a pod with its sidecar are no larger than the API server allows',
  (note) => {
    expect(inject(noted(note))).toMatchObject({
      outcome: 'skipped',
      skip: {
        reason: 'conflict',
        diagnostics: [{ path: 'metadata.annotations', message: expect.stringContaining('(262144 bytes)') }],
      },
    });
  },
);

test('a pod whose annotations would be too large with its sidecar is refused if onConflict is deny', () => {
  const deny = { set: templateSet({ config: DEMO_TEMPLATE, options: 'onConflict: deny' }) };
  expect(inject({ ...noted('x'.repeat(room + 1)), state: deny }).outcome).toBe('denied');
});

test('the annotations of a pod with its sidecar count without values that are no text', () => {
  const mistake = { a: { toString: 1, valueOf: 1 } };
  expect(sizeOf(injectChecked(noted('', mistake)).pod) - sizeOf(injectChecked(noted('')).pod)).toBe(1);
});

test('the annotations of a pod with its sidecar do not count if the API server would refuse it anyway', () => {
  expect(inject(noted('x'.repeat(LIMIT))).outcome).toBe('injected');
});

test('a pod whose list of templates exceeds the size limit of annotations gets none of them', () => {
  const annotations = { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config,'.repeat(50_000) };
  const result = inject(decideInput(podWith({}, { annotations })));
  expect(result).toMatchObject({ outcome: 'skipped', skip: { reason: 'unknown-template' } });
});
