import { describe, expect, test } from '@jest/globals';
import {
  type CompileOptions,
  compilePolicies,
  type PolicyObject,
} from '../../../../src/addons/policies/compile.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { DEMO_TEMPLATE, templateSet } from '../../../support/injection/demo.ts';

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

describe('compilePolicies', () => {
  test('returns a policy with the name of each webhook, and its binding', () => {
    expect(named(compile({ config: DEMO_TEMPLATE }).objects)).toEqual([
      'MutatingAdmissionPolicy envoy.initializer.kubernetes.io',
      'MutatingAdmissionPolicyBinding envoy.initializer.kubernetes.io',
      'MutatingAdmissionPolicy namespace.envoy.initializer.kubernetes.io',
      'MutatingAdmissionPolicyBinding namespace.envoy.initializer.kubernetes.io',
    ]);
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

  test('all pods if the template is too long for an expression', () => {
    const config = `{containers: [{name: a, image: i, workingDir: /${'x'.repeat(100_000)}}]}`;
    expect(compile({ config })).toEqual({
      objects: [],
      left: ['template "config": only the webhook injects it: it is too long for a policy'],
    });
  });
});
