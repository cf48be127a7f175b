import { specField } from '../podspec/pod.ts';
import type { PodRule } from '../rule.ts';

export const hostNetwork = {
  reason: 'host-network',
  help: "the pod uses the node's network",
  warn: 'asked',
  cel: () => ({ unless: 'has(object.spec.hostNetwork) && object.spec.hostNetwork' }),
  find: ({ pod }) =>
    specField(pod, 'hostNetwork') === true
      ? 'spec.hostNetwork is true, and a sidecar would take over the traffic of the node: remove hostNetwork or the opt-in'
      : undefined,
} as const satisfies PodRule;
