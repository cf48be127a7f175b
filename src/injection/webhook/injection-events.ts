import type { AdmissionRequest } from '../../kube/admission/review.ts';
import { own, ownObjects, ownString } from '../../util/json.ts';
import type { InjectionRecord } from './inject-handler.ts';
import { oneLine } from './injection-answer.ts';
import type { AwaitedPod, NewPodEvents } from './new-pod-events.ts';

/**
 * Reports the warnings about a pod by an Event: most clients are controllers, which ignore warnings. A rejected pod
 * gets no Event: its controller reports our message and retries.
 */
export function reportInjection(events: Pick<NewPodEvents, 'expect'>, record: InjectionRecord): void {
  const { request, decision, reason, warnings } = record;
  if (request.dryRun || reason === undefined || warnings.length === 0) return;
  if (decision !== 'skipped' && decision !== 'injected') return;
  events.expect(awaited(request), {
    type: 'Warning',
    reason:
      decision === 'skipped'
        ? 'InjectionSkipped'
        : reason === 'proxy-user'
          ? 'TrafficBypassesEnvoy'
          : 'OverrideIgnored',
    // Events are grouped by object and action, not by note.
    action: reason,
    note: oneLine(record),
  });
}

function awaited({ namespace, name, object }: AdmissionRequest): AwaitedPod {
  const metadata = own(object, 'metadata');
  const controller = ownObjects(metadata, 'ownerReferences').find(
    (owner) => own(owner, 'controller') === true,
  );
  return {
    namespace,
    name: name ?? ownString(metadata, 'name'),
    ownerUid: controller && (ownString(controller, 'uid') ?? ''),
  };
}
