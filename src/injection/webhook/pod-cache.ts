import { LIVE_PODS, PODS } from '../../kube/api/core-resources.ts';
import { controllerOf, type KubeObject, keyOf } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import { type Informer, waitForSync } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { SharedValues } from '../../kube/util/shared-values.ts';
import type { JsonObject } from '../../util/json.ts';
import { DRAIN, type Keys, ROLLOUT_ANNOTATION } from '../keys.ts';
import { isReady } from '../podspec/pod.ts';
import { sidecarFailure } from '../sidecar-failure.ts';

/** A pod as the cache has it. */
export interface CachedPod extends KubeObject {
  /** How its sidecar has ended, if with an error. */
  readonly failure?: string;
  readonly isReady?: boolean;
}

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
 * Returns a transform that keeps what shows whether a pod's sidecar exists, is current and runs, and its controller. A
 * cluster can have hundreds of thousands of pods: what they have in common is kept once.
 */
export function podSummary(keys: Keys): (pod: KubeObject) => CachedPod {
  const kept = new Set([keys.optIn, keys.status, keys.templates, ROLLOUT_ANNOTATION, DRAIN]);
  const shared = new SharedValues();
  return (pod) => {
    const { name, namespace = '', uid = '', resourceVersion = '', creationTimestamp = '' } = pod.metadata;
    const { deletionTimestamp } = pod.metadata;
    const owner = controllerOf(pod);
    const labels = picked(pod.metadata.labels, kept);
    const annotations = picked(pod.metadata.annotations, kept);
    const whole = pod as KubeObject & JsonObject;
    const failure = sidecarFailure(whole, keys);
    return {
      metadata: {
        ...{ name, namespace: shared.of(namespace), uid, resourceVersion },
        creationTimestamp: shared.of(creationTimestamp),
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        ...(labels && { labels: shared.of(labels) }),
        ...(annotations && { annotations: shared.of(annotations) }),
        ...(owner && { ownerReferences: shared.of([owner]) }),
      },
      ...(failure !== undefined && { failure }),
      ...(isReady(whole) && { isReady: true }),
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
export function setUpPodCache(manager: Manager, keys: Keys): Informer<CachedPod> {
  return manager.informer<CachedPod>(PODS, {
    fieldSelector: LIVE_PODS,
    transform: podSummary(keys),
    indexers: POD_INDEXERS,
  });
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

/** Reports how the sidecars of pods have failed: an Event of the pod for each failure that differs from the one before. */
export function reportSidecarFailures(manager: Manager, pods: Informer<CachedPod>): void {
  const controller = manager.controller('sidecar-failure');
  const seen = (pod: CachedPod, before?: string) => {
    if (pod.failure !== undefined && pod.failure !== before) controller.queue.add(keyOf(pod));
  };
  pods.addEventHandler({
    onAdd: (pod) => seen(pod),
    onUpdate: ({ failure }, pod) => seen(pod, failure),
  });
  const reconcile = async (key: string) => {
    const pod = pods.lister.get(key);
    if (pod?.failure === undefined) return {};
    const details = { type: 'Warning', reason: 'SidecarFailed', action: 'Run', note: pod.failure } as const;
    manager.events.event(regardingOf(PODS, pod), details);
    return {};
  };
  controller.reconcile(reconcile, {
    keys: () => pods.lister.list().flatMap((pod) => (pod.failure === undefined ? [] : [keyOf(pod)])),
    after: (signal) => waitForSync([pods], signal),
  });
}
