import { celHasKey } from '../podspec/cel.ts';
import { annotation, MIRROR_ANNOTATION } from '../podspec/pod.ts';
import type { PodRule } from '../rule.ts';

export const mirrorPod = {
  reason: 'mirror-pod',
  help: 'the kubelet runs the pod from a file',
  warn: false,
  cel: () => ({ unless: celHasKey('annotations', MIRROR_ANNOTATION) }),
  find: ({ pod }) =>
    annotation(pod, MIRROR_ANNOTATION) === undefined
      ? undefined
      : 'a mirror pod only reflects a file on its node: run envoy-initializer inject on that file',
} as const satisfies PodRule;
