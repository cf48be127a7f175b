import { describe, expect, test } from '@jest/globals';
import {
  type CompileOptions,
  compilePolicies,
  type PolicyObject,
} from '../../../../src/addons/policies/compile.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN, templateSet } from '../../../support/injection/demo.ts';

const OPTIONS: CompileOptions = {
  keys: keysFor(),
  requireAnnotation: true,
  operatorNamespace: 'envoy-initializer',
  name: 'envoy.initializer.kubernetes.io',
  alone: false,
};
const RESTRICTED = `
containers:
- name: envoy
  image: i
  securityContext:
    allowPrivilegeEscalation: false
    runAsNonRoot: true
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
`;

const compile = (data: Record<string, string>, options: Partial<CompileOptions> = {}) =>
  compilePolicies(templateSet(data), { ...OPTIONS, ...options });
const named = (objects: readonly PolicyObject[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

function policyOf(
  data: Record<string, string>,
  index = 0,
  options: Partial<CompileOptions> = {},
): JsonObject {
  const { objects } = compile(data, options);
  return objects.filter(({ kind }) => kind === 'MutatingAdmissionPolicy')[index]?.spec ?? {};
}

describe('compilePolicies', () => {
  test('returns a policy with the name of each webhook, and its binding', () => {
    expect(named(compile({ config: DEMO_TEMPLATE }).objects)).toEqual([
      'MutatingAdmissionPolicy envoy.initializer.kubernetes.io',
      'MutatingAdmissionPolicyBinding envoy.initializer.kubernetes.io',
      'MutatingAdmissionPolicy namespace.envoy.initializer.kubernetes.io',
      'MutatingAdmissionPolicyBinding namespace.envoy.initializer.kubernetes.io',
    ]);
  });

  test('adds nothing if the namespace selects templates, or if the annotations might become too large', () => {
    const mutations = JSON.stringify(policyOf({ config: DEMO_TEMPLATE }).mutations);
    const annotations = 'namespaceObject.metadata.annotations';
    expect(JSON.parse(mutations)[0].jsonPatch.expression.split(' ? [] :')[0]).toBe(
      `(has(${annotations}) && "${OPT_IN}-templates" in ${annotations}) ||\n` +
        '(size(bytes(variables.status)) + (has(object.metadata.annotations) ? object.metadata.annotations.map(key, size(bytes(key)) + size(bytes(object.metadata.annotations[key]))).sum() : 0) > 262004)',
    );
  });

  test('fails closed for opted-in pods only if there is no webhook', () => {
    const policies = (alone: boolean) =>
      compile({ config: DEMO_TEMPLATE }, { alone }).objects.flatMap(({ kind, spec }) =>
        kind.endsWith('Policy') ? [`${kind} ${spec.failurePolicy}`] : [],
      );
    expect(policies(false)).toEqual(['MutatingAdmissionPolicy Ignore', 'MutatingAdmissionPolicy Ignore']);
    expect(policies(true)).toEqual([
      'MutatingAdmissionPolicy Fail',
      'MutatingAdmissionPolicy Ignore',
      'ValidatingAdmissionPolicy Ignore',
    ]);
  });

  test.each([
    ['skip', 'Warn'],
    ['deny', 'Deny'],
  ])('alone, with onConflict %s, what gets no sidecar is met by %s', (onConflict, action) => {
    const { objects } = compile(
      { config: DEMO_TEMPLATE, options: `onConflict: ${onConflict}` },
      { alone: true },
    );
    expect(objects.at(-1)?.spec.validationActions).toEqual([action]);
  });
});

describe('compilePolicies leaves to the webhook', () => {
  test('a template that pods select by name', () => {
    expect(compile({ config: RESTRICTED, 'config.other': RESTRICTED }).left).toEqual([
      'template "other": only the webhook injects it, because pods and namespaces select it by annotation',
    ]);
  });

  test('namespaces whose pod security the template breaks', () => {
    const { left } = compile({ config: DEMO_TEMPLATE });
    expect(left).toEqual([
      'template "config": the policy leaves pods in namespaces that enforce restricted pod security to the webhook',
    ]);
    expect(JSON.stringify(policyOf({ config: DEMO_TEMPLATE }).matchConstraints)).toContain(
      '{"key":"pod-security.kubernetes.io/enforce","operator":"NotIn","values":["restricted"]}',
    );
    expect(JSON.stringify(policyOf({ config: RESTRICTED }).matchConstraints)).not.toContain('enforce');
  });

  test('namespaces whose level the sidecar meets only by settings that a pod can override', () => {
    const byPod = `
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - {name: e, image: i, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
`;
    expect(compile({ config: byPod }).left).toHaveLength(1);
  });

  test('namespaces whose LimitRanges may refuse pods with the template', () => {
    const range = (item: object) => [{ name: 'l', limits: [item as JsonObject] }];
    const limitRanges = new Map([
      ['small', range({ type: 'Container', max: { memory: '256Mi' } })],
      ['pods', range({ type: 'Pod', max: { memory: '1Ti' } })],
      ['defaults', range({ type: 'Container', default: { cpu: '1' } })],
    ]);
    const { matchConstraints } = policyOf({ config: DEMO_TEMPLATE }, 0, { limitRanges });
    expect(JSON.stringify(matchConstraints)).toContain('"envoy-initializer","pods","small"]');
    const all = new Map(Array.from({ length: 1_001 }, (_, i) => [`n${i}`, range({ type: 'Pod' })] as const));
    expect(compile({ config: DEMO_TEMPLATE }, { limitRanges: all })).toEqual({
      objects: [],
      left: [
        'template "config": only the webhook injects it: more than 1000 namespaces have LimitRanges that may refuse its pods',
      ],
    });
  });

  test('all pods if the template contains the name of the workload', () => {
    const config = `{containers: [{name: a, image: i, args: ['\${workload.name}']}]}`;
    expect(compile({ config })).toEqual({
      objects: [],
      left: ['template "config": only the webhook injects it: it contains the name of the workload'],
    });
  });

  test('all pods if the template is too long for an expression', () => {
    const config = `{containers: [{name: a, image: i, workingDir: /${'x'.repeat(100_000)}}]}`;
    expect(compile({ config })).toEqual({
      objects: [],
      left: ['template "config": only the webhook injects it: it is too long for a policy'],
    });
  });
});
