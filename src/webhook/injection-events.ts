import { type JsonObject, own, ownObjects, ownString } from '../inject/json.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KubeObject } from '../kube/object.ts';
import type { InjectionRecord } from './inject-handler.ts';
import { oneLine } from './injection-answer.ts';
import type { AdmissionRequest } from './review.ts';

/**
 * Tells by an Event what whoever creates a pod is warned of: mostly that is a controller, which reads no warnings. What
 * is refused is no Event of ours: the controller itself reports it, with our message, and tries again.
 */
export function reportInjection(events: EventRecorder, record: InjectionRecord): void {
  const { request, decision, reason, told } = record;
  if (request.dryRun || reason === undefined || told.length === 0) return;
  if (decision !== 'skipped' && decision !== 'injected') return;
  const regarding = ownerOf(request);
  if (!regarding) return;
  events.event(regarding, {
    type: 'Warning',
    reason: decision === 'skipped' ? 'InjectionSkipped' : 'OverrideIgnored',
    // By what an Event is about, and its action, it is told apart from others, and not by its note.
    action: reason,
    note: oneLine(record),
  });
}

/** The controller of the pod, or a pod with a name that has none: that is not there yet, and has no uid (NewPodEvents). */
function ownerOf({ namespace, name, object }: AdmissionRequest): KubeObject | undefined {
  const metadata = own(object, 'metadata');
  const controller = ownObjects(metadata, 'ownerReferences').find(
    (owner) => own(owner, 'controller') === true,
  );
  if (controller) return referenced(controller, namespace);
  const podName = name ?? ownString(metadata, 'name');
  return podName ? { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name: podName } } : undefined;
}

function referenced(owner: JsonObject, namespace: string): KubeObject {
  const field = (key: string) => ownString(owner, key) ?? '';
  const metadata = { namespace, name: field('name'), uid: field('uid') };
  return { apiVersion: field('apiVersion'), kind: field('kind'), metadata };
}
