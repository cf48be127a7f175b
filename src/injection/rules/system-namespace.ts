import type { PodRule } from '../rule.ts';

/** Namespaces of the cluster: a sidecar there can break the whole cluster. */
export const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

export const systemNamespace = {
  reason: 'system-namespace',
  help: 'the pod is in `kube-system`, `kube-public` or `kube-node-lease`',
  warn: 'asked',
  // The matchConstraints of the policy check this.
  cel: 'elsewhere',
  find: ({ request: { namespace } }) =>
    SYSTEM_NAMESPACES.includes(namespace)
      ? `${namespace} is a system namespace, where pods are not injected: use another namespace`
      : undefined,
} as const satisfies PodRule;
