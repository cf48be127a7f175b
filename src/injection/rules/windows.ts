import { own } from '../../util/json.ts';
import { celAnyOf } from '../podspec/cel.ts';
import { specField } from '../podspec/pod.ts';
import type { PodRule } from '../rule.ts';

export const windows = {
  reason: 'windows',
  help: 'the pod is for Windows nodes',
  warn: 'asked',
  cel: () => ({
    unless: celAnyOf([
      'has(object.spec.os) && object.spec.os.name == "windows"',
      'has(object.spec.nodeSelector) && "kubernetes.io/os" in object.spec.nodeSelector && ' +
        'object.spec.nodeSelector["kubernetes.io/os"] == "windows"',
    ]),
  }),
  find({ pod }) {
    if (own(specField(pod, 'os'), 'name') === 'windows')
      return 'spec.os.name is windows, and the sidecar needs Linux: remove the opt-in';
    return own(specField(pod, 'nodeSelector'), 'kubernetes.io/os') === 'windows'
      ? 'spec.nodeSelector["kubernetes.io/os"] is windows, and the sidecar needs Linux: remove the opt-in'
      : undefined;
  },
} as const satisfies PodRule;
