import { celHasKey } from '../podspec/cel.ts';
import { annotation } from '../podspec/pod.ts';
import type { PodRule } from '../rule.ts';
import { isInjected } from '../status.ts';

export const alreadyInjected = {
  reason: 'already-injected',
  help: 'the pod already has the sidecar',
  warn: false,
  // The status may belong to another template, or be a copy: the webhook checks it.
  cel: ({ keys }) => ({ unless: celHasKey('annotations', keys.status) }),
  find: ({ pod, options, templates }) =>
    isInjected(pod, annotation(pod, options.keys.status), templates)
      ? 'the pod already has what the template adds'
      : undefined,
} as const satisfies PodRule;
