import { expect, test } from '@jest/globals';
import { networkMistakes } from '../../../../src/cli/check/check-network.ts';
import { podSites } from '../../../../src/injection/podspec/workload.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

const KEY = 'samplecrd.k8s.io/network';
const ON = { [KEY]: 'blue' };

const mistakes = (object: JsonObject) => [...podSites(object)].flatMap((site) => [...networkMistakes(site)]);
const pod = (metadata: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec: {} });
const deployment = (metadata: JsonObject, template: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: { template: { metadata: template, spec: {} } },
});

test.each<[string, JsonObject]>([
  ['a pod with the annotation', pod({ annotations: ON, labels: ON })],
  ['a pod without', pod({ labels: { app: 'web' } })],
  ['a pod template with the annotation', deployment({ annotations: ON }, { annotations: ON })],
  ['a pod with the annotation of Multus', pod({ annotations: { 'k8s.v1.cni.cncf.io/networks': 'blue' } })],
  ['a pod with a key of another project', pod({ annotations: { 'example.com/network': 'blue' } })],
])('finds none in %s', (_, object) => {
  expect(mistakes(object)).toEqual([]);
});

test.each<[string, JsonObject, string]>([
  ['the labels of a pod', pod({ labels: ON }), 'labels of the pod, where it has no effect: write it into'],
  ['the labels of a template', deployment({ annotations: ON }, { labels: ON }), 'labels of the pod, where'],
  [
    'the annotations of a workload',
    deployment({ annotations: ON }),
    'annotations of the Deployment itself, ',
  ],
  ['the labels of a workload', deployment({ labels: ON }), 'labels of the Deployment itself, '],
])('finds the annotation in %s', (_, object, expected) => {
  expect(mistakes(object)).toEqual([expect.stringContaining(`${KEY} is in the ${expected}`)]);
});

test.each(['samplecrd.k8s.io/networks', 'samplecrd.k8s.io/netwrok', 'samplecrds.k8s.io/network'])(
  'finds the misspelled key %s',
  (key) => {
    expect(mistakes(pod({ annotations: { [key]: 'blue' } }))).toEqual([
      `${key} in the annotations of the pod has no effect: did you mean the annotation ${KEY}?`,
    ]);
  },
);
