import { type KubeObject, keyOf, type ObjectKey } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Reconcile } from '../kube/controller/controller.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import type { FleetBasis } from './classify.ts';
import { Drift, type Finding } from './drift.ts';
import { controllerOf, IN_NAMESPACE, isInjected, OF_CONTROLLER } from './fleet-pods.ts';
import { repairReconcile } from './repair.ts';
import { RepairBreaker } from './repair-breaker.ts';

interface Queue {
  add(key: ObjectKey): void;
}

export interface DriftControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'request'>;
  /** Live pods, cut down by `podSummary`, with the indices of `podIndexers`. */
  readonly pods: Informer<KubeObject>;
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>>;
  readonly basis: () => FleetBasis;
  /** Keys of pods to be judged, and of those that may be evicted. */
  readonly queue: Queue;
  readonly repairQueue: Queue;
  readonly repair: {
    /** Whether pods that were missed are evicted. */
    readonly evict: boolean;
    readonly windowMs: number;
    /** Told each time why nothing is evicted, or that there is no such reason. */
    readonly onObstacle: (why: string | undefined) => void;
  };
  readonly events: EventRecorder;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface DriftController {
  readonly reconcile: Reconcile;
  /** To be run by one worker. */
  readonly repair: Reconcile;
  keys(): readonly ObjectKey[];
  /** The templates are others, or the labels of a namespace: its pods, or all, are judged anew. */
  requeue(namespace?: string): void;
  /** This process does not lead any more, and tells of no pod. */
  forget(): void;
  readonly findings: () => readonly Finding[];
  /** Why nothing is evicted; undefined while nothing speaks against it. */
  readonly stopped: () => string | undefined;
}

/** Sets up the watch over pods whose sidecar is missing or stale, and their repair. Starts nothing. */
export function setUpDriftController(options: DriftControllerOptions): DriftController {
  const { client, pods, namespaceLabels, basis, queue, repairQueue, repair, events, now } = options;
  const breaker = new RepairBreaker();
  const drift = new Drift({
    client,
    pods: pods.lister,
    namespaceLabels,
    basis,
    onFinding(finding) {
      reportMissed(finding, events);
      if (finding.kind === 'missed' && repair.evict) repairQueue.add(keyOf(finding.pod));
    },
  });
  const look = (pod: KubeObject) => {
    const { uid = '', creationTimestamp = '' } = pod.metadata;
    const injected = isInjected(pod, basis().options.keys);
    const controller = controllerOf(pod)?.uid ?? '';
    const seen = { uid, createdAt: Date.parse(creationTimestamp), injected };
    // The next one of the workload need not wait to be looked at again.
    if (breaker.seen(controller, seen, now())) {
      for (const sibling of pods.lister.byIndex(OF_CONTROLLER, controller)) repairQueue.add(keyOf(sibling));
    }
    queue.add(keyOf(pod));
  };
  pods.addEventHandler({
    onAdd: look,
    onUpdate: (_, pod) => look(pod),
    onDelete: (pod) => queue.add(keyOf(pod)),
  });

  return {
    reconcile: drift.reconcile,
    repair: repairReconcile({
      client,
      breaker,
      missed: (key) => drift.missed(key),
      podsOf: (uid) =>
        new Set(pods.lister.byIndex(OF_CONTROLLER, uid).map(({ metadata }) => metadata.uid ?? '')),
      windowMs: repair.windowMs,
      unhealthy: () => ('fault' in basis().state ? 'there is no good template' : undefined),
      events,
      onObstacle: repair.onObstacle,
      now,
    }),
    keys: () => pods.lister.list().map(keyOf),
    requeue(namespace) {
      const which =
        namespace === undefined ? pods.lister.list() : pods.lister.byIndex(IN_NAMESPACE, namespace);
      const keys = which.map(keyOf);
      drift.reset(keys);
      for (const key of keys) queue.add(key);
    },
    forget() {
      drift.forget();
      breaker.reset();
    },
    findings: () => drift.findings,
    stopped: () => breaker.stopped,
  };
}

/**
 * Tells of a pod that was admitted without its sidecar: on its controller, whose next pods may have the same lot, or on
 * itself. A stale one is told of by a gauge alone: each change of the template makes all pods that.
 */
function reportMissed({ kind, pod }: Finding, events: EventRecorder): void {
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
