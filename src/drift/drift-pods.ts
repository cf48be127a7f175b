import type { KubeObject } from '../kube/api/object.ts';
import { type Keys, ROLLOUT_KEY } from '../sidecar/keys.ts';

/** Indices of the pod cache: by namespace, injected pods by namespace, and pods by their controller's UID. */
export const IN_NAMESPACE = 'namespace';
export const INJECTED_IN = 'injected';
export const OF_CONTROLLER = 'controller';

/** Whether the pod has the annotation of an injected pod. */
export function isInjected({ metadata }: KubeObject, keys: Keys): boolean {
  return metadata.annotations?.[keys.status] !== undefined;
}

/** The owner that replaces this pod when it is deleted; undefined for a standalone pod. */
export function controllerOf({ metadata }: KubeObject) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** The indexers of the indices above. */
export function podIndexers(keys: Keys) {
  const namespaceOf = ({ metadata: { namespace } }: KubeObject) =>
    namespace === undefined ? [] : [namespace];
  return {
    [IN_NAMESPACE]: namespaceOf,
    [INJECTED_IN]: (pod: KubeObject) => (isInjected(pod, keys) ? namespaceOf(pod) : []),
    [OF_CONTROLLER]: (pod: KubeObject) => {
      const uid = controllerOf(pod)?.uid;
      return uid === undefined ? [] : [uid];
    },
  };
}

/**
 * Returns a transform that keeps what shows whether a pod's sidecar exists and is current, and its controller. A
 * cluster can have hundreds of thousands of pods.
 */
export function podSummary(keys: Keys): (pod: KubeObject) => KubeObject {
  const kept = new Set([keys.optIn, keys.status, keys.templates, ROLLOUT_KEY]);
  return (pod) => {
    const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = pod.metadata;
    const owner = controllerOf(pod);
    const labels = picked(pod.metadata.labels, kept);
    const annotations = picked(pod.metadata.annotations, kept);
    return {
      metadata: {
        name,
        ...(namespace !== undefined && { namespace }),
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
        ...(creationTimestamp !== undefined && { creationTimestamp }),
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        ...(labels && { labels }),
        ...(annotations && { annotations }),
        ...(owner && { ownerReferences: [owner] }),
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
