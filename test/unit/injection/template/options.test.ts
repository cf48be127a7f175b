import { expect, test } from '@jest/globals';
import { DEFAULT_OPTIONS, parseOptions } from '../../../../src/injection/template/options.ts';
import {
  celHasShape,
  hasShape,
  POD_SHAPES,
  shapeFields,
} from '../../../../src/injection/template/pod-shapes.ts';
import { parseTemplateConfigMap } from '../../../../src/injection/template/template-set.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../../src/injection/webhook/default-template.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { DEMO_TEMPLATE, templateSet } from '../../../support/injection/demo.ts';

const parse = (text: string) => parseOptions('options', text);

test('the default options skip at a conflict, make sidecars of jobs native, and add containers last', () => {
  expect(DEFAULT_OPTIONS).toEqual({ onConflict: 'skip', nativeSidecar: 'jobs', position: 'last' });
});

test.each([
  ['onConflict', 'skip'],
  ['onConflict', 'deny'],
  ['nativeSidecar', 'jobs'],
  ['nativeSidecar', 'always'],
  ['nativeSidecar', 'never'],
  ['position', 'last'],
  ['position', 'first'],
])('the options accept %s: %s, and leave the others at their defaults', (field, value) => {
  expect(parse(`${field}: ${value}\n`)).toEqual({ options: { ...DEFAULT_OPTIONS, [field]: value } });
});

test.each([
  ['an empty text', ''],
  ['blanks', ' \n'],
  ['an empty mapping', '{}'],
  ['an empty value', 'position:\n'],
])('the options are the defaults for %s', (_, text) => {
  expect(parse(text)).toEqual({ options: DEFAULT_OPTIONS });
});

test.each([
  ['onConflict: no', 'onConflict', 1, 1, 'must be one of skip, deny'],
  ['nativeSidecar: no', 'nativeSidecar', 1, 1, 'must be one of jobs, always, never'],
  ['position: no', 'position', 1, 1, 'must be one of last, first'],
  ['onConflict: 1', 'onConflict', 1, 1, 'must be a string: write "1" with quotes'],
  ['nativeSidecar: 1', 'nativeSidecar', 1, 1, 'must be a string: write "1" with quotes'],
  ['position: 1', 'position', 1, 1, 'must be a string: write "1" with quotes'],
])('the options refuse %s', (text, path, line, column, message) => {
  expect(parse(text)).toMatchObject({ faults: [{ source: 'options', path, line, column, message }] });
});

test.each([...POD_SHAPES])('a pod of the shape $name of POD_SHAPES has it, and no other', (shape) => {
  const pod = { spec: shapeFields(shape) };
  expect(POD_SHAPES.filter((each) => hasShape(pod, each))).toEqual([shape]);
  expect(hasShape({ spec: { os: null } }, shape)).toBe(false);
  expect(hasShape({}, shape)).toBe(false);
});

test('POD_SHAPES are conditions in CEL', () => {
  expect(POD_SHAPES.map(celHasShape)).toEqual([
    'object.spec.?restartPolicy == optional.of("Never")',
    'object.spec.?restartPolicy == optional.of("OnFailure")',
    'object.spec.?os.?name == optional.of("linux")',
    'object.spec.?hostIPC == optional.of(true)',
    'object.spec.?hostUsers == optional.of(false)',
  ]);
});

/** The warnings about a template set, each as users see it. */
function advice(data: Readonly<Record<string, string>>): readonly string[] {
  const parsed = parseTemplateConfigMap(data);
  if ('faults' in parsed) throw new Error(parsed.faults.map(formatInText).join('\n'));
  return parsed.advice.map(formatInText);
}

const SAFE =
  'resources: {requests: {cpu: 1m}, limits: {memory: 1Mi}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}';
const sidecar = (fields: string, list = 'containers') => ({ config: `${list}: [{${fields}, ${SAFE}}]` });

test.each<[string, Readonly<Record<string, string>>]>([
  ['the template that an installation starts with', { config: DEFAULT_TEMPLATE_YAML }],
  ['an image by tag', sidecar('name: a, image: "registry:5000/a:v1"')],
  ['an image by digest', sidecar(`name: a, image: "a@sha256:${'0'.repeat(64)}"`)],
  ['an Envoy that is new enough', sidecar('name: a, image: "r.test/envoyproxy/envoy:distroless-v1.36.7"')],
  ['an Envoy whose patch release is not said', sidecar('name: a, image: "envoyproxy/envoy:v1.37"')],
  ['a program of another name', sidecar('name: a, image: "envoyproxy/gateway:v1.2.0"')],
  ['flags of Envoy in two entries', sidecar('name: a, image: "envoy:v1", args: [--concurrency, "2"]')],
  ['flags of others with =', sidecar('name: a, image: "app:v1", args: ["--threads=2"]')],
  [
    'an init container that ends, whatever it requests',
    {
      config:
        'initContainers: [{name: a, image: "a:v1", securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]',
    },
  ],
  ['keys of others', { ...sidecar('name: a, image: "a:v1"'), 'README.md': '', 'envoy.json': '{}' }],
])('a template has no warning about %s', (_, data) => {
  expect(advice(data)).toEqual([]);
});

// biome-ignore format: a line for each case
test.each<[string, Readonly<Record<string, string>>, string]>([
  [
    'a hook that sleeps longer than most pods may',
    sidecar('name: a, image: "a:v1", lifecycle: {preStop: {sleep: {seconds: 31}}}'),
    'config:1:1: a hook sleeps for 31 seconds: if terminationGracePeriodSeconds (default 30) is less, preStop is shortened, and postStart blocks injection',
  ],
  ...['v1.36.6', 'v1.38.0', 'v1.20', 'distroless-v1.34.13', 'v1.9.1'].map(
    (tag): [string, Readonly<Record<string, string>>, string] => [
      `Envoy ${tag}, which a client can stop`,
      sidecar(`name: a, image: "r.test/envoyproxy/envoy:${tag}"`),
      `config:1:24: containers[0].image: Envoy ${tag.replace(/.*v/, '')} lets one client exhaust its memory (CVE-2026-47774): use 1.38.1 or newer`,
    ],
  ),
  [
    'an Envoy of the former name',
    sidecar('name: a, image: "lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1"'),
    'config:1:24: containers[0].image: Envoy of lyft/envoy lets one client exhaust its memory (CVE-2026-47774): use 1.38.1 or newer',
  ],
  [
    'an Envoy that does not start with the configuration',
    {
      config:
        'volumes: [{name: v, configMap: {name: envoy}}]\n' +
        sidecar(
          'name: a, image: "envoyproxy/envoy:v1.38.3", volumeMounts: [{name: v, mountPath: /etc/envoy}]',
        ).config,
    },
    "config:2:24: containers[0].image: Envoy 1.38.3 cannot load the operator's configurations: they need 1.39",
  ],
  [
    'a flag that Envoy rejects',
    sidecar('name: a, image: "envoy:v1", args: ["-c x", "--concurrency=2"]'),
    'config:1:59: containers[0].args[1]: Envoy does not accept "=" after a flag: write "--concurrency" and "2" as two entries',
  ],
  [
    'a violation of the levels baseline and restricted',
    {
      config: `volumes: [{name: h, hostPath: {path: /}}]\ncontainers: [{name: a, image: "a:v1", ${SAFE}}]`,
    },
    'config:1:1: not injected in namespaces that enforce baseline pod security: volume h must not be a hostPath',
  ],
  ['a key that resembles options', { ...sidecar('name: a, image: "a:v1"'), option: '' }, 'option: unknown key: did you mean options?'],
  [
    'a key that resembles a template',
    { ...sidecar('name: a, image: "a:v1"'), 'config-logs': '' },
    'config-logs: unknown key: did you mean config.logs?',
  ],
])('a template has a warning about %s', (_, data, want) => {
  expect(advice(data)).toEqual([want]);
});

test('a template has a warning about pod security only once, as for the demo', () => {
  expect(advice({ config: DEMO_TEMPLATE.replace('lyft/envoy', 'e') })).toEqual([
    'config:1:1: not injected in namespaces that enforce restricted pod security: container envoy must set allowPrivilegeEscalation to false (and 1 more violation)',
  ]);
});

test('a volume without a source and a repeated pull secret become what the API server makes of them', () => {
  const config =
    'volumes: [{name: v}, {name: w, emptyDir: }]\nimagePullSecrets: [{name: s}, {name: t}, {name: s}]';
  expect(templateSet({ config }).templates.get('config')).toMatchObject({
    volumes: ['v', 'w'].map((name) => ({ name, emptyDir: {} })),
    imagePullSecrets: [{ name: 's' }, { name: 't' }],
  });
});
