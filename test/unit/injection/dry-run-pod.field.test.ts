import { describe, expect, test } from '@jest/globals';
import { refusals, refusedFields, templateField } from '../../../src/injection/dry-run-pod.ts';
import { inject } from '../../../src/injection/inject.ts';
import { formatInText, formatPath, MAX_DIAGNOSTICS, type Path } from '../../../src/util/diagnostic.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { decideInput, podWith, templateSet } from '../../support/injection/demo.ts';

const TEXT = `\
metadata: {labels: {team: mesh}}
spec:
  containers: [{name: envoy, image: 'i:v1', env: [{name: A}]}]
  initContainers: [{name: init, image: 'i:v1'}]
  volumes: [{name: one, emptyDir: {}}, {name: two, emptyDir: {}}]
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
  imagePullSecrets: [{name: secret}]
  securityContext: {runAsUser: 1}
  env: [{name: X, value: x}, {name: Y, value: y}]
  volumeMounts: [{name: one, mountPath: /one}]
`;

function setUp() {
  const set = templateSet({ config: TEXT });
  const template = set.templates.get('config');
  const app = { name: 'app', image: 'i', env: [{ name: 'OWN', value: '1' }] };
  const pod = podWith({ containers: [app], volumes: [{ name: 'own', emptyDir: {} }] });
  const injection = inject(decideInput(pod, { state: { set } }));
  if (!template || injection.outcome !== 'injected') throw new Error('expected an injected pod');
  return { template, pod: injection.pod };
}

describe('templateField', () => {
  // biome-ignore format: a line for each case
  test.each([
    ['spec.containers[1].env[0].value', 'containers[0].env[0].value'],
    ['spec.containers[1].resources.limits[example.com/gpu]', 'containers[0].resources.limits["example.com/gpu"]'],
    ['spec.initContainers[0].image', 'initContainers[0].image'],
    ['spec.containers[0].env[2].valueFrom', 'env[1].valueFrom'],
    ['spec.containers[0].volumeMounts[0].mountPath', 'volumeMounts[0].mountPath'],
    ['spec.volumes[2].emptyDir', 'volumes[1].emptyDir'],
    ['spec.hostAliases[0].hostnames[0]', 'hostAliases[0].hostnames[0]'],
    ['spec.imagePullSecrets[0].name', 'imagePullSecrets[0].name'],
    ['spec.securityContext.runAsUser', 'securityContext.runAsUser'],
    ['metadata.labels', 'metadata.labels'],
  ])('of %s is %s', (field, expected) => {
    const { template, pod } = setUp();
    expect(formatPath(templateField(template, pod, field) ?? [])).toBe(expected);
  });

  test.each([
    'spec.containers[0].image',
    'spec.containers[0].env[0].value',
    'spec.containers[0].env',
    'spec.containers[9].image',
    'spec.containers',
    'spec.containers[]',
    'spec.containers[0].ports[1].name',
    'spec.volumes[0].emptyDir',
    'spec.volumes.length.x',
    'spec.dnsConfig.searches',
    'spec.hostname',
    'metadata.annotations',
    'metadata.name',
    'status',
    '',
  ])('of %s is nothing', (field) => {
    const { template, pod } = setUp();
    expect(templateField(template, pod, field)).toBeUndefined();
  });
});

describe('templateField, whatever the pod has,', () => {
  const config = `
metadata: {annotations: {note: x}}
spec:
  containers: [{name: envoy, image: 'i:v1'}]
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
  dnsConfig: {searches: [a]}
`;
  const of = (field: string, spec: JsonObject = {}) => {
    const template = templateSet({ config }).templates.get('config');
    if (!template) throw new Error('no template');
    return templateField(template, { spec }, field);
  };
  const envoy = { name: 'envoy', image: 'i:v1' };

  // biome-ignore format: a line for each case
  test.each<[string, JsonObject, Path]>([
    ['metadata.annotations[note]', {}, ['metadata', 'annotations', 'note']],
    ['spec.dnsConfig.searches[0]', {}, ['dnsConfig', 'searches', 0]],
    // A native sidecar.
    ['spec.initContainers[0].image', { initContainers: [envoy] }, ['containers', 0, 'image']],
    ['spec.hostAliases[1].hostnames[0]', { hostAliases: [{ ip: '10.0.0.9' }, { ip: '10.0.0.1' }] }, ['hostAliases', 0, 'hostnames', 0]],
    ['spec.containers[0].args[12]', { containers: [envoy] }, ['containers', 0, 'args', 12]],
    ['spec.containers[0].x[1gpu]', { containers: [envoy] }, ['containers', 0, 'x', '1gpu']],
    ['spec.containers[0].x[gpu1]', { containers: [envoy] }, ['containers', 0, 'x', 'gpu1']],
  ])('of %s is found', (field, spec, expected) => {
    expect(of(field, spec)).toEqual(expected);
  });

  test.each<[string, JsonObject]>([
    ['spec.initContainers[0].env[0].value', { env: [{ name: 'X', value: 'own' }] }],
    ['spec.initContainers[0].volumeMounts[0].name', { volumeMounts: [{ name: 'own', mountPath: '/one' }] }],
    ['spec.initContainers[0].image', {}],
  ])("of %s in the application's init container is nothing", (field, fields) => {
    const { template } = setUp();
    const initContainers = [{ name: 'own-init', ...fields }];
    expect(templateField(template, { spec: { initContainers } }, field)).toBeUndefined();
  });

  test.each(['status.annotations', 'status.dnsConfig.searches', 'spec.annotations'])(
    'of %s is nothing',
    (field) => {
      expect(of(field)).toBeUndefined();
    },
  );
});

test('a refusal names at most as many fields as a report', () => {
  const { template, pod } = setUp();
  const fields = Array.from({ length: MAX_DIAGNOSTICS + 1 }, () => ({
    field: 'metadata.labels',
    message: 'no',
  }));
  expect(refusedFields(template, pod, { message: 'invalid', fields })).toHaveLength(MAX_DIAGNOSTICS);
});

test('a refusal is a fault at each field, at its place in the text', () => {
  const { template, pod } = setUp();
  const fields = ['spec.containers[1].env[0].name', 'metadata.labels', 'spec.hostname'];
  const refusal = { message: 'invalid', fields: fields.map((field) => ({ field, message: 'no' })) };
  const said = 'the API server refuses a pod with this template';
  expect(refusals(template, TEXT, refusedFields(template, pod, refusal)).map(formatInText)).toEqual([
    `config:3:52: spec.containers[0].env[0].name: ${said}: no`,
    `config:1:12: metadata.labels: ${said}: no`,
    `config: ${said}: spec.hostname: no`,
  ]);
  expect(refusedFields(template, pod, { message: 'invalid', fields: [] })).toEqual([
    { path: undefined, message: 'invalid' },
  ]);
});
