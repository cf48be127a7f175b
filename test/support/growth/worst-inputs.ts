import type { JsonValue } from '../../../src/util/json.ts';
import { podReview } from '../injection/admission-review.ts';
import { DEMO_TEMPLATE, OPT_IN, podWith } from '../injection/demo.ts';
import {
  attaching,
  callWith,
  configMapReview,
  injecting,
  routeReview,
  validatingEnvoy,
  validatingRoutes,
  validatingTemplates,
} from './calls.ts';
import type { GrowingInput } from './growing-input.ts';

const HERE = '"HERE"';
/** A template that adds something to each container of the application, and to each list of the pod. */
const RICH = `${DEMO_TEMPLATE}
env: [{name: PROXY, value: "1"}, {name: MODE, value: "2"}]
volumeMounts: [{name: envoy-conf, mountPath: /etc/shared}]
hostAliases: [{ip: 192.0.2.1, hostnames: [mesh]}]
imagePullSecrets: [{name: registry}]
`;
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };

/** Texts of JSON that are as dense as can be, of n parts. */
const DENSE: Readonly<Record<string, (n: number) => string>> = {
  'empty objects': (n) => `[${'{},'.repeat(n)}{}]`,
  'empty lists': (n) => `[${'[],'.repeat(n)}[]]`,
  numbers: (n) => `[${'0,'.repeat(n)}0]`,
  'empty texts': (n) => `[${'"",'.repeat(n)}""]`,
  'objects with a name': (n) => `[${'{"name":"a"},'.repeat(n)}{}]`,
  'objects with names of their own': (n) =>
    `[${Array.from({ length: n }, (_, i) => `{"name":"${i}"}`).join()}]`,
  'open brackets': (n) => '['.repeat(n),
  'closed brackets': (n) => `${'['.repeat(n)}${']'.repeat(n)}`,
  'objects in objects': (n) => `${'{"a":'.repeat(n)}0${'}'.repeat(n)}`,
  members: (n) => `{${Array.from({ length: n }, (_, i) => `"${i.toString(36)}":""`).join()}}`,
  'members with numbers for names': (n) =>
    `{${Array.from({ length: n }, (_, i) => `"${i * 7919}":0`).join()}}`,
  'one member many times': (n) => `{${'"a":0,'.repeat(n)}"a":0}`,
  'text that is escaped': (n) => `"${'\\u0001'.repeat(n)}"`,
  text: (n) => `"${'x'.repeat(n)}"`,
  'text of commas': (n) => `"${','.repeat(n)}"`,
  'text of brackets': (n) => `"${'['.repeat(n)}"`,
  'text of lines': (n) => `"${'\\n'.repeat(n)}"`,
  'text of quotes': (n) => `"${'\\"'.repeat(n)}"`,
};

/** Places of a pod that something dense can be in. */
const spec = (fields: object) => podWith(fields as never);
const IN_PODS: Readonly<Record<string, object>> = {
  containers: { ...podWith({ containers: 'HERE' }) },
  'containers beside one': podWith({ initContainers: 'HERE' }),
  'env of a container': spec({ containers: [{ name: 'app', env: 'HERE' }] }),
  'mounts of a container': spec({ containers: [{ name: 'app', volumeMounts: 'HERE' }] }),
  'ports of a container': spec({ containers: [{ name: 'app', ports: 'HERE' }] }),
  'resources of a container': spec({
    resources: {},
    containers: [{ name: 'app', resources: { requests: 'HERE' } }],
  }),
  'capabilities of a container': spec({
    containers: [{ name: 'app', securityContext: { capabilities: { add: 'HERE' } } }],
  }),
  'name of a container': spec({ containers: [{ name: 'HERE' }] }),
  'a stub': spec({ containers: [{ name: 'envoy', image: 'auto', args: 'HERE' }] }),
  'env of a stub': spec({ containers: [{ name: 'envoy', image: 'auto', env: 'HERE' }] }),
  volumes: spec({ volumes: 'HERE' }),
  'host aliases': spec({ hostAliases: 'HERE' }),
  'pull secrets': spec({ imagePullSecrets: 'HERE' }),
  sysctls: spec({ securityContext: { sysctls: 'HERE' } }),
  'scheduling gates': spec({ schedulingGates: 'HERE' }),
  'a field that is not known': spec({ fromTheFuture: 'HERE' }),
  spec: { ...podWith({}), spec: 'HERE' },
  labels: podWith({}, { labels: 'HERE' as never }),
  owners: podWith({}, { ownerReferences: 'HERE' }),
  name: podWith({}, { name: 'HERE' }),
};
const ANNOTATIONS = [
  ...['', '-status', '-templates', '-image', '-cpu-request'].map((end) => `${OPT_IN}${end}`),
  'samplecrd.k8s.io/network',
  'k8s.v1.cni.cncf.io/networks',
  'kubectl.kubernetes.io/default-container',
];

const HANDLERS = {
  restricted: injecting({ data: { config: RICH }, namespaceLabels: RESTRICTED }),
  attach: attaching(),
};
const IN_EACH_PLACE = /^(objects with names of their own|members|text of (brackets|commas))$/;
const IN_ONE_PLACE = /^(containers|annotation samplecrd.k8s.io\/network|annotation .*envoy-status)$/;

/** The dense texts in each place of a pod, for each webhook that pods are sent to. */
const PODS: readonly GrowingInput[] = Object.entries(HANDLERS).flatMap(([handlerName, handler]) =>
  Object.entries(DENSE).flatMap(([what, text]) => {
    const places = [
      ...Object.entries(IN_PODS).map(
        ([place, object]) => [place, JSON.stringify(podReview({ object: object as never }))] as const,
      ),
      ...ANNOTATIONS.map((key) => {
        const annotations = { [OPT_IN]: 'true', 'samplecrd.k8s.io/network': 'one', [key]: 'HERE' };
        return [
          `annotation ${key}`,
          JSON.stringify(podReview({ object: podWith({}, { annotations }) })),
        ] as const;
      }),
      [
        'all annotations',
        JSON.stringify(podReview({ object: podWith({}, { annotations: 'HERE' as never }) })),
      ] as const,
      ['beside the pod', JSON.stringify({ ...podReview(), more: 'HERE' })] as const,
    ];
    const counted = places.filter(([place]) => IN_EACH_PLACE.test(what) || IN_ONE_PLACE.test(place));
    return counted.map(([place, review]) => ({
      name: `${handlerName}: ${what} in ${place}`,
      work: (n: number) =>
        callWith(
          handler,
          review.replace(HERE, () => text(n)),
        ),
    }));
  }),
);

/** What is dense as YAML. */
const YAML: Readonly<Record<string, (n: number) => string>> = {
  brackets: (n) => '['.repeat(n),
  braces: (n) => '{'.repeat(n),
  'numbers in brackets': (n) => `[${'0,'.repeat(n)}0]`,
  'empty lists in brackets': (n) => `[${'[],'.repeat(n)}]`,
  'nothing in brackets': (n) => `[${','.repeat(n)}]`,
  dashes: (n) => '- '.repeat(n),
  'dashes on lines': (n) => '-\n'.repeat(n),
  'keys on lines': (n) => Array.from({ length: n }, (_, i) => `${i}:\n`).join(''),
  'one key on lines': (n) => 'a:\n'.repeat(n),
  colons: (n) => ': '.repeat(n),
  'complex keys': (n) => '? a\n'.repeat(n),
  'nested complex keys': (n) => '? '.repeat(n),
  anchors: (n) => Array.from({ length: n }, (_, i) => `- &a${i} 0\n`).join(''),
  aliases: (n) => `- &a 0\n${'- *a\n'.repeat(n)}`,
  'aliases of a list': (n) => `- &a [${'0,'.repeat(1000)}]\n${'- *a\n'.repeat(n)}`,
  'aliases of aliases': (n) =>
    Array.from(
      { length: Math.min(n, 50_000) },
      (_, i) => `- &a${i} [${i === 0 ? '0' : `*a${i - 1},*a${i - 1}`}]\n`,
    ).join(''),
  tags: (n) => '- !!str a\n'.repeat(n),
  documents: (n) => '---\n'.repeat(n),
  directives: (n) => `${'%a b\n'.repeat(n)}---\n`,
  comments: (n) => `${'#\n'.repeat(n)}a: 1`,
  'blank lines': (n) => `${'\n'.repeat(n)}contaners: 1`,
  blanks: (n) => `${' '.repeat(n)}a`,
  tabs: (n) => '\t'.repeat(n),
  quotes: (n) => `"${'\\x41'.repeat(n)}"`,
  'single quotes': (n) => `'${"''".repeat(n)}'`,
  'quotes over lines': (n) => `"${'\n'.repeat(n)}"`,
  'plain text over lines': (n) => `a: ${'b\n  '.repeat(n)}`,
  'a block of text': (n) => `a: |\n${'  x\n'.repeat(n)}`,
  'a folded block of text': (n) => `a: >\n${'  x\n\n'.repeat(n)}`,
  'a line of text': (n) => 'x'.repeat(n),
  digits: (n) => '1'.repeat(n),
  'unknown fields': (n) => Array.from({ length: n }, (_, i) => `containerz${i}: 1\n`).join(''),
  'unknown fields of containers': (n) => `containers:\n${'- {imag: a, portz: 1}\n'.repeat(n)}`,
  'ports of containers': (n) =>
    // Above 130 of them, the API server proves them otherwise.
    `containers:\n${Array.from({ length: 2 * n }, (_, i) => `- {name: c${i}, image: a, ports: [{containerPort: 80}]}\n`).join('')}`,
  variables: (n) => `env:\n${Array.from({ length: n }, (_, i) => `- {name: e${i}}\n`).join('')}`,
  'v2 clusters': (n) => `static_resources: {clusters: [${'{hosts: []},'.repeat(n)}]}`,
  'routes to nowhere': (n) =>
    `static_resources: {listeners: [{routes: [${'{route: {cluster: a}},'.repeat(n)}]}]}`,
  'filters without a configuration': (n) => `static_resources: {filters: [${'{name: a},'.repeat(n)}]}`,
};

const validating = (
  name: string,
  data: (n: number) => Readonly<Record<string, string>>,
): readonly GrowingInput[] => [
  {
    name: `validate: ${name}`,
    work: (n) =>
      callWith(validatingTemplates(), JSON.stringify(configMapReview('envoy-initializer', data(n)))),
  },
];
const envoyOf = (
  name: string,
  data: (n: number) => Readonly<Record<string, string>>,
  labels = {},
): GrowingInput => ({
  name: `validate-envoy: ${name}`,
  work: (n) => callWith(validatingEnvoy(), JSON.stringify(configMapReview('envoy', data(n), labels))),
});
const keys = (n: number, name: (index: number) => string, text: string) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [name(i), text]));
const WEIGHTS = { 'initializer.kubernetes.io/envoy-weights': 'true' };

const CONFIG_MAPS: readonly GrowingInput[] = [
  ...Object.entries(YAML).flatMap(([name, text]) => [
    ...validating(name, (n) => ({ config: text(n) })),
    envoyOf(`${name}`, (n) => ({ 'envoy.yaml': text(n) })),
  ]),
  ...validating('templates', (n) => keys(n, (i) => (i === 0 ? 'config' : `config.t${i}`), DEMO_TEMPLATE)),
  ...validating('templates that are none', (n) => keys(n, (i) => `config.${i}`, 'x')),
  ...validating('keys that look like ours', (n) => keys(n, (i) => `config-${i}`, '')),
  ...validating('keys of others', (n) => keys(n, (i) => `confi${i}`, '')),
  envoyOf('files', (n) => keys(n, (i) => `${i}.json`, '{}')),
  envoyOf('files that are none', (n) => keys(n, (i) => `${i}.json`, '[')),
  envoyOf('weights', (n) => keys(n, (i) => `c${i}.a`, '0'), WEIGHTS),
  envoyOf('keys', (n) => keys(n, (i) => `c${i}.a`, '0')),
];

const routeOf = (name: string, rules: (n: number) => JsonValue): GrowingInput => ({
  name: `validate-route: ${name}`,
  work: (n) => callWith(validatingRoutes(), JSON.stringify(routeReview(rules(n)))),
});
const fields = (n: number, value: JsonValue) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`f${i}`, value]));
const matching = (value: string) => ({ matches: [{ path: { type: 'RegularExpression', value } }] });

const ROUTES: readonly GrowingInput[] = [
  routeOf('rules', (n) => Array.from({ length: n }, () => ({}))),
  routeOf('unknown fields', (n) => [fields(n, '')]),
  routeOf('lists in lists', (n) => [fields(n, [[]])]),
  routeOf('a regular expression', (n) => [matching('a{1,9}'.repeat(n))]),
  routeOf('open brackets of a regular expression', (n) => [matching('['.repeat(n))]),
  routeOf('a path', (n) => [{ matches: [{ path: { value: '/'.repeat(n) } }] }]),
];

/** The densest inputs of the webhooks: a few texts in each place, each text in a few places. */
export const COUNTED: readonly GrowingInput[] = [...PODS, ...CONFIG_MAPS, ...ROUTES];
