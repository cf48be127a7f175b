import { expect, test } from '@jest/globals';
import { inject } from '../../../../src/injection/inject.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { DEMO_TEMPLATE, decideInput, OPT_IN, podWith, templateSet } from '../../../support/injection/demo.ts';
import { injectChecked, injectWith, specOf } from '../../../support/injection/inject-checked.ts';

const asking = (overrides: Record<string, string>) => {
  const all = Object.entries(overrides).map(([name, value]) => [`${OPT_IN}-${name}`, value]);
  return { annotations: { [OPT_IN]: 'true', ...Object.fromEntries(all) } };
};
const annotated = (overrides: Record<string, string>) => podWith({}, asking(overrides));
/** A pod with these annotations, injected. */
const overridden = (overrides: Record<string, string>, data?: Record<string, string>, spec = {}) =>
  injectWith(spec, data, asking(overrides));

const envoyOf = (pod: JsonObject) =>
  [...(specOf(pod).containers as JsonObject[]), ...((specOf(pod).initContainers as JsonObject[]) ?? [])].find(
    ({ name }) => name === 'envoy',
  );

test('annotations of a pod change its sidecar', () => {
  const overrides = {
    image: 'example.com/envoy:v2',
    'cpu-request': '200m',
    'cpu-limit': '2',
    'memory-request': '128Mi',
    'memory-limit': '1Gi',
  };
  expect(envoyOf(overridden(overrides).pod)).toMatchObject({
    image: 'example.com/envoy:v2',
    resources: { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '200m', memory: '128Mi' } },
  });
});

test.each([
  ['cpu-limits', 'did you mean initializer.kubernetes.io/envoy-cpu-limit?'],
  ['something-else', 'remove it'],
])('annotations of a pod that are unknown are ignored with a hint: %s', (name, hint) => {
  const injection = inject(decideInput(annotated({ [name]: '1', image: 'mine' })));
  expect(injection).toMatchObject({
    outcome: 'injected',
    warnings: [{ reason: 'invalid-override', message: `annotation ${OPT_IN}-${name} is unknown: ${hint}` }],
  });
});

test('annotations of a pod that the template reads, and those of other features, are known', () => {
  const config = DEMO_TEMPLATE.replace(
    'image:',
    `env: [{name: ZONE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['${OPT_IN}-zone']"}}}]\n    image:`,
  );
  const pod = annotated({ zone: 'a', 'exclude-outbound-ports': '80' });
  const injection = inject({ ...decideInput(pod), state: { set: templateSet({ config }) } });
  expect(injection).toMatchObject({ outcome: 'injected', warnings: [] });
});

test('annotations of a pod change one value and leave the others', () => {
  const { pod } = overridden({ 'memory-limit': '1Gi' });
  expect(envoyOf(pod)?.resources).toEqual({
    limits: { cpu: '1000m', memory: '1Gi' },
    requests: { cpu: '100m', memory: '64Mi' },
  });
});

test('annotations of a pod give resources to a container that has none', () => {
  const { pod } = overridden({ 'cpu-request': '1m' }, { config: 'containers: [{name: envoy, image: i}]' });
  expect(envoyOf(pod)?.resources).toEqual({ requests: { cpu: '1m' } });
});

test('annotations of a pod change a native sidecar, but not an init container that ends', () => {
  const config = `initContainers:
      - {name: rules, image: i}
      - {name: envoy, image: i, restartPolicy: Always}
      - {name: other, image: i, restartPolicy: Always}`;
  const { pod } = overridden({ image: 'mine' }, { config });
  expect(specOf(pod).initContainers).toMatchObject([
    { name: 'rules', image: 'i' },
    { name: 'envoy', image: 'mine' },
    { name: 'other', image: 'i' },
  ]);
});

test('annotations of a pod change a native sidecar too, and the overrides of the pod', () => {
  const override = { name: 'envoy', image: 'auto', resources: { limits: { cpu: '3' } } };
  const spec = { restartPolicy: 'Never', initContainers: [override] };
  const { pod } = overridden({ image: 'mine', 'cpu-limit': '4' }, undefined, spec);
  expect(envoyOf(pod)).toMatchObject({
    image: 'mine',
    restartPolicy: 'Always',
    resources: { limits: { cpu: '4' } },
  });
});

test('annotations of a pod change only the first container of the first template', () => {
  const data = {
    config: `${DEMO_TEMPLATE}initContainers: [{name: setup, image: s}]`,
    'config.logs': 'containers: [{name: logs, image: l}]',
  };
  const { pod } = overridden({ image: 'mine', templates: 'config,logs' }, data);
  const images = [
    ...(specOf(pod).containers as JsonObject[]),
    ...(specOf(pod).initContainers as JsonObject[]),
  ];
  expect(images.map(({ image }) => image)).toEqual(['busybox', 'mine', 'l', 's']);
});

test('annotations of a pod do not change the template', () => {
  const set = templateSet();
  injectChecked(decideInput(annotated({ image: 'mine' }), { state: { set } }));
  expect(set).toEqual(templateSet());
});

test.each([
  ['image', '', 'write an image such as envoyproxy/envoy:v1.36.0'],
  ['image', 'a b', 'write an image such as'],
  ['image', 'auto', 'write an image such as'],
  ['cpu-limit', 'lots', 'write a quantity such as 500m'],
  ['memory-request', '-1', 'write a quantity such as 64Mi'],
])('annotations of a pod that are invalid are ignored and reported: %s %j', (name, value, hint) => {
  const { pod, warnings } = overridden({ [name]: value });
  expect(warnings[0]).toMatchObject({
    reason: 'invalid-override',
    message: expect.stringContaining(`annotation ${OPT_IN}-${name} is ${JSON.stringify(value)}: ${hint}`),
  });
  expect(envoyOf(pod)).toEqual(envoyOf(overridden({}).pod));
});

test('annotations of a pod that are valid apply beside invalid ones', () => {
  const { pod, warnings } = overridden({ image: '', 'memory-limit': 'x', 'cpu-limit': '3' });
  expect(envoyOf(pod)).toMatchObject({ resources: { limits: { cpu: '3' } } });
  expect(warnings).toHaveLength(2);
});

test('annotations of a pod that do not fit the template are ignored together', () => {
  const { pod, warnings } = overridden({ 'cpu-limit': '50m', image: 'mine' });
  expect(warnings[0]).toMatchObject({
    reason: 'invalid-override',
    message:
      'container envoy: resources.requests.cpu: 100m exceeds the limit 50m: lower it, or raise the limit',
  });
  expect(envoyOf(pod)).toEqual(envoyOf(overridden({}).pod));
});

test('annotations of a pod that are valid cause no message', () => {
  expect(overridden({ image: 'mine' }).warnings).toEqual([]);
});

test('annotations of a pod that are invalid reject the pod if onConflict is deny', () => {
  const state = { set: templateSet({ config: DEMO_TEMPLATE, options: 'onConflict: deny' }) };
  expect(inject(decideInput(annotated({ image: '' }), { state }))).toMatchObject({ outcome: 'denied' });
});
