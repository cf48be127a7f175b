import { describe, expect, test } from '@jest/globals';
import { keysFor } from '../../../src/injection/keys.ts';
import { optInMistakes } from '../../../src/injection/mistakes.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { OPT_IN } from '../../support/injection/demo.ts';

const mistakes = (object: JsonObject, pod: JsonObject, namespaceLabels?: Record<string, string>) => [
  ...optInMistakes({ object, path: [], pod }, keysFor(), namespaceLabels),
];
const quoted = (place: string, value: string) =>
  `${place} must be strings, but ${OPT_IN} is ${value}: write ${OPT_IN}: "${value}" with quotes`;
const misplaced = (place: string, kind: string) =>
  `${OPT_IN} is in the ${place} of the ${kind} itself, which its pods do not inherit: move it to the metadata of its pod template`;

describe('a failed opt-in', () => {
  test.each([true, false, 1])('is a value without its quotes: %j', (value) => {
    const labels = { metadata: { labels: { [OPT_IN]: value } } };
    expect(mistakes(labels, labels)).toEqual([quoted('labels', String(value))]);
    const both = { metadata: { labels: { [OPT_IN]: value }, annotations: { [OPT_IN]: value } } };
    expect(mistakes(both, both)).toEqual([
      quoted('labels', String(value)),
      quoted('annotations', String(value)),
    ]);
  });

  test.each(['labels', 'annotations'])('is an opt-in in the %s of the workload itself', (place) => {
    const deployment = { kind: 'Deployment', metadata: { [place]: { [OPT_IN]: 'true' } } };
    expect(mistakes(deployment, {})).toEqual([misplaced(place, 'Deployment')]);
    expect(mistakes({ metadata: deployment.metadata }, {})).toEqual([misplaced(place, 'object')]);
  });

  test.each([
    ['initializer.kubernetes.io/envoi', 'true'],
    ['initializer.kubernetes.io/Envoy', 'True'],
    ['initialiser.kubernetes.io/envoy', 'false'],
    ['initializer.kubernetes.io/evoy', true],
  ])('is a misspelled key: %s', (key, value) => {
    const message = (where: string) => `${key} in the ${where} has no effect: did you mean ${OPT_IN}?`;
    expect(mistakes({}, { metadata: { labels: { [key]: value } } })).toEqual([message('labels of the pod')]);
    expect(mistakes({}, { metadata: { annotations: { [key]: value } } })).toEqual([
      message('annotations of the pod'),
    ]);
    expect(mistakes({}, {}, { [key]: String(value) })).toEqual([message('labels of the namespace')]);
  });

  test('is reported once', () => {
    const twice = { labels: { [OPT_IN]: 'true' }, annotations: { [OPT_IN]: 'true' } };
    expect(mistakes({ kind: 'Job', metadata: twice }, {})).toEqual([misplaced('labels', 'Job')]);
  });
});

// biome-ignore format: a line for each case
test.each<[string, JsonObject, JsonObject]>([
  ['no opt-in', { kind: 'Deployment' }, {}],
  ['a pod with a string', {}, { metadata: { labels: { [OPT_IN]: 'true' } } }],
  ['keys of others', {}, { metadata: { labels: { envoy: 'true', 'example.com/envoy': 'true' } } }],
  ['a similar key with another value', {}, { metadata: { labels: { 'initializer.kubernetes.io/envoi': 'v2' } } }],
  ['the key of rollouts', {}, { metadata: { labels: { 'initializer.kubernetes.io/rollout': 'false' } } }],
  ['another annotation of ours', {}, { metadata: { annotations: { [`${OPT_IN}-routes`]: 'false' } } }],
  ['a misspelled key beside the right one', {}, { metadata: { labels: { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoi': 'true' } } }],
  ['a null value', {}, { metadata: { annotations: { [OPT_IN]: null } } }],
  [
    'an opt-in in the workload and in its pods, where the pods decide',
    { kind: 'Deployment', metadata: { labels: { [OPT_IN]: 'true' } } },
    { metadata: { annotations: { [OPT_IN]: 'false' } } },
  ],
])('nothing is wrong with %s', (_, object, pod) => {
  expect(mistakes(object, pod)).toEqual([]);
});

test('nothing is wrong with a namespace that opts in', () => {
  const labels = { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoi': 'true' };
  expect(mistakes({}, {}, labels)).toEqual([]);
});
