import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import { uninject } from '../../../src/injection/uninject.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { answerTo, rememberingAnswers } from '../../../src/injection/webhook/injection-answer.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../../src/util/json.ts';
import { anything, pods, record, states } from '../../support/injection/arbitrary-pods.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  OPT_IN,
  podWith,
  STATUS,
  templateSet,
} from '../../support/injection/demo.ts';
import { injectChecked, metadataOf, specOf } from '../../support/injection/inject-checked.ts';
import { plausiblePods, securedPods } from '../../support/injection/plausible-pods.ts';

/** The pod in a namespace that opts in. */
const input = (pod: JsonObject, state: { set: ReturnType<typeof templateSet> }) =>
  decideInput(pod, { state, namespaceLabels: { [OPT_IN]: 'true' } });

const byName = (list: JsonValue | undefined) =>
  new Map((Array.isArray(list) ? (list as readonly JsonObject[]) : []).map((item) => [item.name, item]));

test('the patch of any pod fits, a second implementation agrees, and a second pass changes nothing', () => {
  let injected = 0;
  fc.assert(
    fc.property(pods, states, (pod, state) => {
      if (inject(input(pod, state)).outcome !== 'injected') return;
      injectChecked(input(pod, state));
      injected += 1;
    }),
    { numRuns: 300 },
  );
  expect(injected).toBeGreaterThan(50);
});

test("a pod's own containers keep order and content in any injection, but for the template's additions", () => {
  fc.assert(
    fc.property(pods, states, (pod, state) => {
      const result = inject(input(pod, state));
      if (result.outcome !== 'injected') return;
      const own = (specOf(pod).containers as readonly JsonObject[]).filter(({ image }) => image !== 'auto');
      const after = byName(specOf(result.pod).containers);
      for (const before of own) {
        const { env: _env, volumeMounts: _mounts, ...rest } = after.get(before.name) ?? {};
        const { env: _ownEnv, volumeMounts: _ownMounts, ...ownRest } = before;
        expect(rest).toEqual(ownRest);
      }
      expect([...after.keys()].filter((key) => own.some(({ name: n }) => n === key))).toEqual(
        own.map(({ name: n }) => n),
      );
    }),
  );
});

test('unknown fields of a pod survive injection', () => {
  fc.assert(
    fc.property(pods, states, (pod, state) => {
      const result = inject(input(pod, state));
      if (result.outcome !== 'injected') return;
      expect(specOf(result.pod).odd).toBe(specOf(pod).odd);
      expect(JSON.stringify(result.pod.status)).toBe(JSON.stringify(pod.status));
    }),
  );
});

test('the number of operations of a patch depends on the template alone, not on the size of the pod', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 3 }), (variables, count) => {
      const env = Array.from({ length: variables }, (_, i) => ({ name: `K${i}`, value: 'v' }));
      const own = Array.from({ length: count }, (_, i) => ({ name: `app-${i}`, image: 'a', env }));
      const { operations } = injectChecked(
        input({ metadata: {}, spec: { containers: own } }, { set: templateSet() }),
      );
      expect(operations).toHaveLength(3);
    }),
    { numRuns: 8 },
  );
});

test('any pod is skipped or injected, and none makes inject throw', () => {
  fc.assert(
    fc.property(record(anything), record(anything), record(anything), (root, metadata, spec) => {
      const pod = { ...root, metadata, spec };
      expect(['injected', 'skipped']).toContain(inject(input(pod, { set: templateSet() })).outcome);
    }),
  );
});

const KEYS = keysFor();

/** Lists and maps that injection may add to. Kubernetes treats empty and null ones as absent. */
const BLANKABLE: ReadonlySet<string> = new Set([
  ...['metadata', 'labels', 'annotations', 'initContainers', 'volumes', 'imagePullSecrets'],
  ...['hostAliases', 'securityContext', 'dnsConfig', 'env', 'volumeMounts'],
]);

function normal(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(normal);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, normal(item)] as const)
      .filter(([key, item]) => !(BLANKABLE.has(key) && (item === null || Object.keys(item).length === 0))),
  );
}

test('uninject returns the original pod, for every pod and template', () => {
  let injected = 0;
  fc.assert(
    fc.property(pods, states, fc.boolean(), (generated, state, overrideFirst) => {
      const pod = overrideFirst ? withNativeOverride(generated) : generated;
      const result = inject(decideInput(pod, { state, namespaceLabels: { [OPT_IN]: 'true' } }));
      if (result.outcome !== 'injected') return;
      injected += 1;
      const frozen = structuredClone(result.pod);
      expect(normal(uninject(result.pod, KEYS) ?? null)).toEqual(normal(pod));
      expect(result.pod).toEqual(frozen);
    }),
    { numRuns: 1000 },
  );
  expect(injected).toBeGreaterThan(200);
});

test('uninject does not throw for any status', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (added, moved) => {
      const overlaid = { 'myapp-container': { name: 'x' }, gone: { name: 'y' } };
      const text = JSON.stringify({ version: 1, added, overlaid, moved });
      const back = uninject(podWith({}, { annotations: { [STATUS]: text } }), KEYS);
      expect(own(own(metadataOf(back ?? {}), 'annotations'), STATUS)).toBeUndefined();
    }),
  );
});

/** The pod with an init container that overrides the template's container. */
function withNativeOverride(pod: JsonObject): JsonObject {
  const spec = specOf(pod);
  const rest = (spec.containers as JsonObject[]).filter(({ name }) => name !== 'envoy');
  if (rest.length === 0) return pod;
  const override = { name: 'envoy', image: 'auto', args: ['--mine'] };
  const inits = isArray(spec.initContainers) ? spec.initContainers : [];
  return { ...pod, spec: { ...spec, containers: rest, initContainers: [override, ...inits] } };
}

const options = { keys: keysFor(), requireAnnotation: false, operatorNamespace: 'envoy-initializer' };
const SETS = [
  DEFAULT_TEMPLATE_YAML,
  `${DEMO_TEMPLATE}env: [{name: A, value: b}]\nvolumeMounts: [{name: envoy-conf, mountPath: /etc/envoy}]\n`,
].map((config) => templateSet({ config, 'config.other': DEMO_TEMPLATE }));

/** As the API server sends a new pod: with a name of its own in each pod for the volume of the token. */
function withToken(pod: JsonObject, random: string): JsonObject {
  const [metadata, spec] = [pod.metadata, pod.spec].map((part) => (isObject(part) ? part : {}));
  const volumes = [{ name: `kube-api-access-${random}`, projected: { sources: [] } }];
  return {
    metadata: { ...metadata, uid: random },
    spec: { ...spec, volumes: [...volumes, ...[spec?.volumes ?? []].flat()] },
  };
}

const places = fc.record({
  namespace: fc.constantFrom('default', 'kube-system', 'envoy-initializer'),
  namespaceLabels: fc.constantFrom<Readonly<Record<string, string>>>(
    {},
    { [OPT_IN]: 'false' },
    { 'pod-security.kubernetes.io/enforce': 'restricted' },
  ),
  namespaceTemplates: fc.constantFrom(undefined, 'other', 'missing'),
});

test('a remembered injection is the one for the pod, and for its twin with other random names', () => {
  const answer = rememberingAnswers(options);
  fc.assert(
    fc.property(fc.oneof(pods, plausiblePods, securedPods), fc.tuple(places, places), (pod, both) => {
      for (const set of SETS) {
        for (const each of [pod, withToken(pod, 'abcde'), withToken(pod, 'x7k2p')]) {
          for (const { namespace, ...settings } of both) {
            const input = { request: podCreation(namespace), pod: each, ...settings, state: { set } };
            expect(textOf(() => answer(input))).toBe(textOf(() => answerTo(inject({ ...input, options }))));
          }
        }
      }
    }),
    { numRuns: 300, seed: 27 },
  );
});

test('pods of one workload share an injection; no others do, nor with another configuration', () => {
  const answer = rememberingAnswers(options);
  const [set] = SETS;
  if (!set) throw new Error('no templates');
  const pod = (image: string, random: string) =>
    withToken({ metadata: { generateName: 'web-' }, spec: { containers: [{ name: 'app', image }] } }, random);
  const of = (its: JsonObject, namespace = 'default', envoyFiles = {}) =>
    answer({ request: podCreation(namespace), pod: its, namespaceLabels: {}, envoyFiles, state: { set } });
  const files = {};
  const first = of(pod('a', 'abcde'), 'default', files);
  expect(first.decision).toBe('injected');
  expect(of(pod('a', 'x7k2p'), 'default', files)).toBe(first);
  for (const other of [
    of(pod('b', 'abcde'), 'default', files),
    of(pod('a', 'abcde'), 'b', files),
    of(pod('a', 'abcde')),
  ])
    expect(other).not.toBe(first);
  // Users make as many odd and long pods as they like.
  const long = pod('a'.repeat(17_000), 'abcde');
  expect(of(long, 'default', files).decision).toBe('injected');
  expect(of(long, 'default', files)).not.toBe(of(long, 'default', files));
  for (let index = 0; index < 512; index += 1) of(pod(`odd-${index}`, 'abcde'), 'default', files);
  expect(of(pod('a', 'abcde'), 'default', files)).not.toBe(first);
});

function textOf(answered: () => unknown): string {
  try {
    return JSON.stringify(answered());
  } catch (error) {
    return String(error);
  }
}
