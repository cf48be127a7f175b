import { controllerOf, type KubeObject, keyOf } from '../../kube/api/object.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Core } from '../../operator/core.ts';
import { Drift, type Finding } from './drift.ts';
import { driftMetrics } from './metrics.ts';

const WORKERS = 2;

/** Sets up the search for pods whose sidecar is missing or stale. */
export function setUpDrift(
  manager: Manager,
  { template, namespaces, pods, decide }: Pick<Core, 'template' | 'namespaces' | 'pods' | 'decide'>,
): void {
  const { leaderClient: client, events, registry } = manager;
  const work = manager.controller('drift', WORKERS);
  const drift = new Drift({
    client,
    pods: pods.lister,
    namespaceSettings: (name) => namespaces.cached(name),
    basis: () => ({ options: decide, state: template.templates.state }),
    onFinding: (finding) => reportMissed(finding, events),
  });
  const add = (pod: KubeObject) => work.queue.add(keyOf(pod));
  pods.addEventHandler({ onAdd: add, onUpdate: (_, pod) => add(pod), onDelete: add });
  const again = (which: readonly KubeObject[]) => {
    drift.reset(which.map(keyOf));
    which.forEach(add);
  };
  template.onAdopted(() => again(drift.concerned()));
  namespaces.onChanged((name) => again(pods.lister.list(name)));
  driftMetrics(registry, () => drift.findings);
  work.reconcile(drift.reconcile, {
    keys: () => pods.lister.list().map(keyOf),
    after: (signal) => waitForSync([pods], signal),
    ended: () => drift.forget(),
  });
}

/**
 * Reports a pod that was admitted without its sidecar, on its controller, or on the pod if it has none. Stale pods
 * are only counted by a gauge: each change of the template makes all pods stale.
 */
function reportMissed({ kind, pod }: Finding, events: EventRecorder): void {
  if (kind !== 'missed') return;
  const note = `Pod ${pod.metadata.name} has no sidecar, because no replica answered, or its namespace opted in later: recreate it`;
  events.event(regarding(pod), { type: 'Warning', reason: 'SidecarMissing', action: 'Inject', note });
}

function regarding(pod: KubeObject): KubeObject {
  const owner = controllerOf(pod);
  const { namespace } = pod.metadata;
  if (owner === undefined) return { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, metadata: { name, uid, ...(namespace !== undefined && { namespace }) } };
}
