import { LIVE_PODS, PODS } from '../../kube/api/core-resources.ts';
import { controllerOf, type KubeObject } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { SharedValues } from '../../kube/util/shared-values.ts';
import { type Keys, ROLLOUT_ANNOTATION } from '../keys.ts';

/** The index of the pod cache by {@link controllerKey}. */
export const OF_CONTROLLER = 'controller';

/** Whether the pod has the annotation of an injected pod. What it says may be wrong: `sidecarState` looks at it. */
export function isMarked({ metadata }: KubeObject, keys: Keys): boolean {
  return metadata.annotations?.[keys.status] !== undefined;
}

/** The indexers of the pod cache. */
export const POD_INDEXERS = {
  [OF_CONTROLLER]: (pod: KubeObject) => (controllerOf(pod) ? [controllerKey(pod)] : []),
};

/** Names the controller of a pod, in the namespace of the pod: one that names an owner of another namespace is not its pod. */
export function controllerKey(pod: KubeObject): string {
  return `${pod.metadata.namespace}/${controllerOf(pod)?.uid}`;
}

/**
 * Returns a transform that keeps what shows whether a pod's sidecar exists and is current, and its controller. A
 * cluster can have hundreds of thousands of pods: what they have in common is kept once.
 */
export function podSummary(keys: Keys): (pod: KubeObject) => KubeObject {
  const kept = new Set([keys.optIn, keys.status, keys.templates, ROLLOUT_ANNOTATION]);
  const shared = new SharedValues();
  return (pod) => {
    const { name, namespace = '', uid = '', resourceVersion = '', creationTimestamp = '' } = pod.metadata;
    const { deletionTimestamp } = pod.metadata;
    const owner = controllerOf(pod);
    const labels = picked(pod.metadata.labels, kept);
    const annotations = picked(pod.metadata.annotations, kept);
    return {
      metadata: {
        ...{ name, namespace: shared.of(namespace), uid, resourceVersion },
        creationTimestamp: shared.of(creationTimestamp),
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        ...(labels && { labels: shared.of(labels) }),
        ...(annotations && { annotations: shared.of(annotations) }),
        ...(owner && { ownerReferences: shared.of([owner]) }),
      },
    };
  };
}

function picked(
  map: Readonly<Record<string, string>> | undefined,
  kept: ReadonlySet<string>,
): Readonly<Record<string, string>> | undefined {
  const entries = Object.entries(map ?? {}).filter(([key]) => kept.has(key));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** The cache of all live pods, with what `podSummary` keeps of them. */
export function setUpPodCache(manager: Manager, keys: Keys): Informer<KubeObject> {
  return manager.informer(
    { ...PODS, metadataOnly: true },
    {
      fieldSelector: LIVE_PODS,
      transform: podSummary(keys),
      indexers: POD_INDEXERS,
    },
  );
}

/** Calls the listener with each pod that is new in the cache, on every replica. */
export function onNewPod(pods: Informer<KubeObject>, listener: (pod: KubeObject) => void): void {
  pods.addEventHandler({
    onAdd: listener,
    onUpdate(before, pod) {
      // Another pod of the same name: the watch has missed a deletion.
      if (before.metadata.uid !== pod.metadata.uid) listener(pod);
    },
  });
}
