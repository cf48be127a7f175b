import type { KubeObject } from '../kube/api/object.ts';
import type { Keys } from '../sidecar/keys.ts';

/** Indices of the cache of pods: those of a namespace, those of them with a sidecar, those of a controller by its UID. */
export const IN_NAMESPACE = 'namespace';
export const INJECTED_IN = 'injected';
export const OF_CONTROLLER = 'controller';

/** Whether a pod says that it was injected. */
export function isInjected({ metadata }: KubeObject, keys: Keys): boolean {
  return metadata.annotations?.[keys.status] !== undefined;
}

/** Who makes a new pod in the place of this one; undefined for a pod of its own. */
export function controllerOf({ metadata }: KubeObject) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

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
 * What is kept of a pod's metadata: enough to see whether its sidecar is there and current, and to whom it belongs. A
 * cluster has pods by the hundred thousand.
 */
export function podSummary(keys: Keys): (pod: KubeObject) => KubeObject {
  const kept = new Set([keys.optIn, keys.status, keys.templates]);
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
