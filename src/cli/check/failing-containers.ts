import type { Keys } from '../../injection/keys.ts';
import { troubleOf } from '../../injection/podspec/container-trouble.ts';
import { annotation, nameOf } from '../../injection/podspec/pod.ts';
import { parseStatus } from '../../injection/status.ts';
import { isObject, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import type { CheckFinding } from './check-report.ts';

/** More pods are not named. */
const MAX_PODS = 5;

/** A finding for each container of a sidecar, and each init container, that cannot run, in the kubelet's words. */
export function failingContainers(pods: readonly JsonObject[], keys: Keys): readonly CheckFinding[] {
  return pods.flatMap((pod) => findingsOf(pod, keys)).slice(0, MAX_PODS);
}

function findingsOf(pod: JsonObject, keys: Keys): readonly CheckFinding[] {
  const added = parseStatus(annotation(pod, keys.status))?.added.containers ?? [];
  const status = own(pod, 'status');
  const states = [
    ...ownObjects(status, 'initContainerStatuses'),
    ...ownObjects(status, 'containerStatuses').filter((state) => added.includes(nameOf(state))),
  ];
  return states.flatMap((state) => {
    const trouble = troubleOf(state);
    if (trouble === undefined) return [];
    const name = nameOf(own(pod, 'metadata') as JsonObject | undefined);
    // What a container said when it ended is gone from its state once the kubelet waits to start it again.
    const last = own(own(state, 'lastState'), 'terminated');
    const words = isObject(last)
      ? [ownString(last, 'message')?.trim(), `exit code ${own(last, 'exitCode')}`]
      : [];
    const why = [trouble, ...words].filter(Boolean).join('; ');
    return [
      { reason: 'container-failing', message: `pod ${name}: container ${nameOf(state)} cannot run: ${why}` },
    ];
  });
}
