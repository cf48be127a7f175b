import type { PodRule } from '../rule.ts';

/** Namespaces of the cluster itself: a sidecar there can take the whole cluster down. */
export const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

export const systemNamespace = {
  reason: 'system-namespace',
  help: 'the pod is in `kube-system`, `kube-public` or `kube-node-lease`',
  warn: 'asked',
  // The policy's matchConstraints select by it.
  cel: 'elsewhere',
  find: ({ request: { namespace } }) =>
    SYSTEM_NAMESPACES.includes(namespace)
      ? `${namespace} belongs to the cluster itself, where no pod is injected`
      : undefined,
} as const satisfies PodRule;
