import type { PodRule } from '../rule.ts';

export const operatorNamespace = {
  reason: 'operator-namespace',
  help: "the pod is in the operator's namespace",
  warn: 'asked',
  // The policy's matchConstraints select by it.
  cel: 'elsewhere',
  find: ({ request: { namespace }, options }) =>
    namespace === options.operatorNamespace
      ? `${namespace} is the injector's own namespace, where no pod is injected`
      : undefined,
} as const satisfies PodRule;
