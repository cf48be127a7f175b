import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DEFAULT_KEY as KEY, keysFor } from '../../../src/injection/keys.ts';
import { injectManifests } from '../../../src/injection/manifests/manifests.ts';
import { strayKeys } from '../../../src/injection/stray-keys.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { MANIFEST_OPTIONS } from '../../support/injection/demo.ts';

const NETWORK = 'samplecrd.k8s.io/network';
const ON = { [KEY]: 'true' };
const messages = (...documents: JsonObject[]) =>
  Array.from(strayKeys(documents, [], keysFor(), [NETWORK]), ([, message]) => message);
const at = (path: string, value: JsonValue): JsonObject =>
  path
    .split('.')
    .reduceRight<JsonValue>(
      (inner, key) => (/^\d$/.test(key) ? [inner] : { [key]: inner }),
      value,
    ) as JsonObject;
const object = (apiVersion: string, kind: string, fields: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  ...fields,
});
const POD = { metadata: { labels: ON }, spec: { containers: [{ name: 'a', image: 'a' }] } };

describe('an opt-in without effect is named with its place', () => {
  test.each([
    ['batch/v1', 'CronJob', 'spec.jobTemplate.metadata'],
    ['jobset.x-k8s.io/v1alpha2', 'JobSet', 'spec.replicatedJobs.0.template.metadata'],
    ['apps/v1', 'StatefulSet', 'spec.volumeClaimTemplates.0.metadata'],
    ['apps/v1', 'Deployment', 'spec'],
  ])('%s %s: %s', (apiVersion, kind, path) => {
    const where = `${path.replace('.0', '[0]')}.labels`;
    expect(messages(object(apiVersion, kind, at(path, { labels: ON })))).toEqual([
      `${KEY} in ${where} has no effect, because the pods of the ${kind} never see it: move it to their template`,
    ]);
  });

  test.each([
    ['spec.template.jobTemplate.spec.template', 'spec.template.jobTemplate.spec.template'],
    ['spec.nodeSets.0.podTemplate', 'spec.nodeSets[].podTemplate'],
    ['spec.podTemplate', 'spec.podTemplate'],
    ['spec.tfReplicaSpecs.Worker.template', 'spec.tfReplicaSpecs.Worker.template'],
  ])('in an unknown kind, with the flag: %s', (path, flag) => {
    const [message, ...others] = messages(object('example.com/v1', 'Gang', at(path, POD)));
    expect(others).toEqual([]);
    expect(message).toMatch(/ has no effect here, because Gang\.example\.com is an unknown kind: /);
    expect(message?.endsWith(`use --pod-template-path Gang.example.com=${flag}`)).toBe(true);
  });

  test.each<[string, JsonObject]>([
    [
      'in the annotations of the namespace, where',
      object('v1', 'Namespace', { metadata: { annotations: ON } }),
    ],
    [
      `${KEY} in metadata.labels is "True": write "true" or "false"`,
      object('v1', 'Namespace', { metadata: { labels: { [KEY]: 'True' } } }),
    ],
    ['in metadata.labels has no effect', object('v1', 'Service', { metadata: { labels: ON } })],
    ['in spec.podLabels has no effect here', object('example.com/v1', 'Gang', at('spec.podLabels', ON))],
    [
      'the image auto of container envoy in spec.pods.spec.containers has no effect here',
      object('example.com/v1', 'Gang', at('spec.pods.spec.containers', [{ name: 'envoy', image: 'auto' }])),
    ],
    [
      `${KEY}-image in metadata.annotations has no effect`,
      object('apps/v1', 'Deployment', { metadata: { annotations: { [`${KEY}-image`]: 'a' } } }),
    ],
    [
      `${NETWORK} in spec.jobTemplate.metadata.annotations has no effect`,
      object('batch/v1', 'CronJob', at('spec.jobTemplate.metadata.annotations', { [NETWORK]: 'a' })),
    ],
  ])('%s', (text, given) => {
    expect(messages(given)).toEqual([expect.stringContaining(text)]);
  });
});

test.each<[string, readonly JsonObject[]]>([
  ['pods', [object('v1', 'Pod', POD), object('apps/v1', 'Deployment', at('spec.template', POD))]],
  ['a list without kinds', [object('v1', 'PodList', { items: [POD] })]],
  [
    'labels of all objects',
    [
      object('apps/v1', 'Deployment', { ...at('spec.template', POD), metadata: { labels: ON } }),
      object('v1', 'Service', { metadata: { labels: ON }, spec: { selector: ON } }),
      object(
        'batch/v1',
        'CronJob',
        at('spec.jobTemplate', { metadata: { labels: ON }, ...at('spec.template', POD) }),
      ),
    ],
  ],
  ['selectors', [object('example.com/v1', 'Gang', at('spec.selector.matchLabels', ON))]],
  [
    'a namespace',
    [
      object('v1', 'Namespace', {
        metadata: { labels: ON, annotations: { ...ON, [`${KEY}-templates`]: 'a' } },
      }),
    ],
  ],
  [
    'a kind without templates',
    [object('argoproj.io/v1alpha1', 'Workflow', at('spec.podMetadata.labels', ON))],
  ],
  [
    'an opt-out of an unknown kind',
    [object('example.com/v1', 'Gang', at('spec.podLabels', { [KEY]: 'false' }))],
  ],
  [
    'what Istio injects',
    [object('example.com/v1', 'Gang', at('spec.containers', [{ name: 'istio-proxy', image: 'auto' }]))],
  ],
])('nothing is wrong with %s', (_, documents) => {
  expect(messages(...documents)).toEqual([]);
});

test('wherever an opt-in is, it is injected or named', () => {
  const step = fc.constantFrom('spec', 'template', 'jobTemplate', 'pods', '0', 'metadata', 'Worker');
  const kind = fc.constantFrom(
    'apps/v1 Deployment',
    'batch/v1 CronJob',
    'v1 Pod',
    'example.com/v1 Gang',
    'v1 Service',
    'ray.io/v1 RayJob',
  );
  const path = fc.array(step, { maxLength: 5 }).map((steps) => [...steps, 'metadata', 'labels'].join('.'));
  fc.assert(
    fc.property(kind, path, (type, place) => {
      const [apiVersion = '', name = ''] = type.split(' ');
      const text = JSON.stringify({ apiVersion, kind: name, ...at(place, ON) });
      const { results, strays } = injectManifests(text, MANIFEST_OPTIONS);
      const named = strays.length + results.flatMap(({ mistakes }) => mistakes).length;
      const decided = results.filter(
        ({ injection }) => injection.outcome === 'injected' || injection.skip.reason !== 'not-opted-in',
      );
      expect(named + decided.length).toBeGreaterThan(0);
    }),
    { numRuns: 500 },
  );
});

describe('a setting of a sidecar without effect is named', () => {
  const pod = (metadata: JsonObject, container: JsonObject = { name: 'app', image: 'app' }) => {
    const text = JSON.stringify(object('v1', 'Pod', { metadata, spec: { containers: [container] } }));
    return injectManifests(text, MANIFEST_OPTIONS).results.flatMap(({ mistakes }) => mistakes);
  };
  const ports = `${KEY}-exclude-inbound-ports`;

  test.each<[string, JsonObject, string]>([
    [
      'ports',
      { labels: ON, annotations: { [ports]: 'http, 9100' } },
      `annotation ${ports} is "http, 9100": write ports from 1`,
    ],
    [
      'an octal port',
      { labels: ON, annotations: { [ports]: '0443' } },
      `annotation ${ports} is "0443": write ports from 1`,
    ],
    [
      'unread ports',
      { labels: ON, annotations: { [ports]: '22' } },
      `annotation ${ports} has no effect: the template does not`,
    ],
    [
      'no opt-in',
      { annotations: { [`${KEY}-image`]: 'a' } },
      `annotation ${KEY}-image has no effect without the opt-in`,
    ],
    [
      'no opt-in, and a key that does not exist',
      { annotations: { [`${KEY}-inject`]: 'true' } },
      `annotation ${KEY}-inject has no effect without the opt-in`,
    ],
    [
      'a label instead of an annotation',
      { labels: { ...ON, [`${KEY}-templates`]: 'a' } },
      `label ${KEY}-templates has no effect: write it into the annotations`,
    ],
  ])('%s', (_, metadata, text) => {
    expect(pod(metadata)).toEqual([expect.stringContaining(text)]);
  });

  test('the image auto', () => {
    expect(pod({}, { name: 'envoy', image: 'auto' })).toEqual([
      'container envoy has the image auto, but its pod gets no sidecar, so it cannot start: write an image, or opt in',
    ]);
    expect(pod({}, { name: 'istio-proxy', image: 'auto' })).toEqual([]);
  });
});
