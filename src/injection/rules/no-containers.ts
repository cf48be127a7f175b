import { containers } from '../podspec/pod.ts';
import type { PodRule } from '../rule.ts';

/** The API server rejects such a pod. A sidecar would make it valid. */
export const noContainers = {
  reason: 'no-containers',
  help: 'the pod has no containers',
  warn: false,
  cel: () => ({ only: 'has(object.spec.containers) && size(object.spec.containers) > 0' }),
  find: ({ pod }) => (containers(pod).length === 0 ? 'the pod has no containers' : undefined),
} as const satisfies PodRule;
