import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { answerTo, rememberingAnswers } from '../../../src/injection/webhook/injection-answer.ts';
import { isObject, type JsonObject } from '../../../src/util/json.ts';
import { pods } from '../../support/injection/arbitrary-pods.ts';
import { DEMO_TEMPLATE, OPT_IN, templateSet } from '../../support/injection/demo.ts';
import { plausiblePods, securedPods } from '../../support/injection/plausible-pods.ts';

const options = { keys: keysFor(), requireAnnotation: false, operatorNamespace: 'envoy-initializer' };
const answer = rememberingAnswers(options);
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

test('an answer that is remembered is the one for the pod, and for its twin with other random names', () => {
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

test('pods of one workload share an answer; others do not, nor pods elsewhere or with another configuration', () => {
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
});

function textOf(answered: () => unknown): string {
  try {
    return JSON.stringify(answered());
  } catch (error) {
    return String(error);
  }
}
