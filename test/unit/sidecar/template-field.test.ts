import { describe, expect, test } from '@jest/globals';
import { formatFault } from '../../../src/json/diagnostic.ts';
import { formatPath } from '../../../src/json/path.ts';
import { inject } from '../../../src/sidecar/inject.ts';
import { refusalFaults, refusedFields, templateField } from '../../../src/sidecar/template-field.ts';
import { decideInput, podWith, templateSet } from '../../support/demo.ts';

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
  test.each([
    ['spec.containers[1].env[0].value', 'containers[0].env[0].value'],
    [
      'spec.containers[1].resources.limits[example.com/gpu]',
      'containers[0].resources.limits["example.com/gpu"]',
    ],
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
    'spec.volumes[0].emptyDir',
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

test('a refusal is a fault at each field, at its place in the text', () => {
  const { template, pod } = setUp();
  const fields = ['spec.containers[1].env[0].name', 'metadata.labels', 'spec.hostname'];
  const refusal = { message: 'invalid', fields: fields.map((field) => ({ field, message: 'no' })) };
  const said = 'the API server refuses a pod with this template';
  expect(refusalFaults(template, TEXT, refusedFields(template, pod, refusal)).map(formatFault)).toEqual([
    `config:3:52: spec.containers[0].env[0].name: ${said}: no`,
    `config:1:12: metadata.labels: ${said}: no`,
    `config: ${said}: spec.hostname: no`,
  ]);
  expect(refusedFields(template, pod, { message: 'invalid', fields: [] })).toEqual([
    { path: undefined, message: 'invalid' },
  ]);
});
