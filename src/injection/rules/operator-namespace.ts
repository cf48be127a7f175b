import type { PodRule } from '../rule.ts';

export const operatorNamespace = {
  reason: 'operator-namespace',
  help: "the pod is in the operator's namespace",
  warn: 'asked',
  // The matchConstraints of the policy check this.
  cel: 'elsewhere',
  find: ({ request: { namespace }, options }) =>
    namespace === options.operatorNamespace
      ? `${namespace} is the operator's namespace, where pods are not injected: use another namespace`
      : undefined,
} as const satisfies PodRule;
