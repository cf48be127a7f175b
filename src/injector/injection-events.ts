import { own, ownObjects, ownString } from '../json/json.ts';
import type { AdmissionRequest } from '../kube/admission/review.ts';
import type { InjectionRecord } from './inject-handler.ts';
import { oneLine } from './injection-answer.ts';
import type { AwaitedPod, NewPodEvents } from './new-pod-events.ts';

/**
 * Tells by an Event what whoever creates a pod is warned of: mostly that is a controller, which reads no warnings. What
 * is refused is no Event of ours: the controller itself reports it, with our message, and tries again.
 */
export function reportInjection(events: Pick<NewPodEvents, 'expect'>, record: InjectionRecord): void {
  const { request, decision, reason, told } = record;
  if (request.dryRun || reason === undefined || told.length === 0) return;
  if (decision !== 'skipped' && decision !== 'injected') return;
  events.expect(awaited(request), {
    type: 'Warning',
    reason: decision === 'skipped' ? 'InjectionSkipped' : 'OverrideIgnored',
    // By what an Event is about, and its action, it is told apart from others, and not by its note.
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
