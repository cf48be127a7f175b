import type { KubeObject } from '../kube/api/object.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import type { Finding } from './drift.ts';
import { controllerOf } from './fleet-pods.ts';

/**
 * Tells of a pod that was admitted without its sidecar: on its controller, whose next pods may have the same lot, or on
 * itself. A stale one is told of by a gauge alone: each change of the template makes all pods that.
 */
export function reportMissed({ kind, pod }: Finding, events: EventRecorder): void {
  if (kind !== 'missed') return;
  const note = `Pod ${pod.metadata.name} was created without its sidecar, as the webhook was not asked or did not answer: create it again`;
  events.event(regarding(pod), { type: 'Warning', reason: 'SidecarMissing', action: 'Inject', note });
}

function regarding(pod: KubeObject): KubeObject {
  const owner = controllerOf(pod);
  const { namespace } = pod.metadata;
  if (owner === undefined) return { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, metadata: { name, uid, ...(namespace !== undefined && { namespace }) } };
}
