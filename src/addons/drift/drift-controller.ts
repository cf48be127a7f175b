import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { changedTemplates, selectedNames, type TemplateSet } from '../../injection/template/template-set.ts';
import { classify, type DriftBasis } from '../../injection/webhook/classify.ts';
import { controllerKey, isMarked, OF_CONTROLLER } from '../../injection/webhook/pod-cache.ts';
import { controllerOf, type KubeObject, keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import { Drift, type Finding } from './drift.ts';
import { repairReconcile } from './repair.ts';
import { RepairBreaker } from './repair-breaker.ts';

interface Queue {
  add(key: ObjectKey): void;
}

export interface DriftControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'request'>;
  /** Live pods, cut down by `podSummary`, with the indices of `POD_INDEXERS`. */
  readonly pods: Pick<Informer<KubeObject>, 'lister' | 'addEventHandler'>;
  readonly namespaceSettings: (namespace: string) => NamespaceSettings;
  readonly basis: () => DriftBasis;
  /** Gets the keys of pods to classify; `repairQueue` those of pods to evict. */
  readonly queue: Queue;
  readonly repairQueue: Queue;
  readonly repair: {
    /** Whether missed pods are evicted. */
    readonly evict: boolean;
    readonly windowMs: number;
    /** Called on each attempt with the reason why nothing is evicted; undefined if there is none. */
    readonly onObstacle: (why: string | undefined) => void;
  };
  readonly events: EventRecorder;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface DriftController {
  readonly reconcile: Reconcile;
  /** Needs exactly one worker. */
  readonly repair: Reconcile;
  keys(): readonly ObjectKey[];
  /** Requeues the pods of a namespace: call it when its labels change. */
  requeue(namespace: string): void;
  /** Requeues the pods that would get another sidecar now: call it when the templates change. */
  templatesChanged(): void;
  /** Drops all findings, because this process is no longer the leader. */
  forget(): void;
  readonly findings: () => readonly Finding[];
  /** Why nothing is evicted; undefined if nothing prevents it. */
  readonly stopped: () => string | undefined;
}

/** Sets up the controllers that find pods whose sidecar is missing or stale, and repair them. Starts nothing. */
export function setUpDriftController(options: DriftControllerOptions): DriftController {
  const { client, pods, namespaceSettings, basis, queue, repairQueue, repair, events, now } = options;
  const breaker = new RepairBreaker();
  const drift = new Drift({
    client,
    pods: pods.lister,
    namespaceSettings,
    basis,
    onFinding(finding) {
      reportMissed(finding, events);
      if (finding.kind === 'missed' && repair.evict) repairQueue.add(keyOf(finding.pod));
    },
  });
  const hasSidecar = (pod: KubeObject) => isMarked(pod, basis().options.keys);
  /** Tells the breaker whether a pod has its sidecar; undefined: it asks for none. */
  const tell = (pod: KubeObject, injected: boolean | undefined) => {
    const { uid = '', creationTimestamp = '' } = pod.metadata;
    const controller = controllerKey(pod);
    const seen = { uid, createdAt: Date.parse(creationTimestamp), injected };
    // The next pod of the workload need not wait for its retry.
    if (breaker.seen(controller, seen, now())) {
      for (const sibling of pods.lister.byIndex(OF_CONTROLLER, controller)) repairQueue.add(keyOf(sibling));
    }
  };
  const check = (pod: KubeObject) => {
    // A user may give an evicted pod an opt-in that its workload lacks: that must not stop the repair of others.
    if (hasSidecar(pod)) tell(pod, true);
    else if (classify(pod, namespaceSettings(pod.metadata.namespace ?? ''), basis()) === 'without')
      tell(pod, undefined);
    queue.add(keyOf(pod));
  };
  pods.addEventHandler({
    onAdd: check,
    onUpdate: (_, pod) => check(pod),
    onDelete: (pod) => queue.add(keyOf(pod)),
  });

  const requeue = (which: readonly KubeObject[]) => {
    const keys = which.map(keyOf);
    drift.reset(keys);
    for (const key of keys) queue.add(key);
  };
  /** The templates with which all pods were queued last. */
  let judgedBy: TemplateSet | undefined;

  return {
    async reconcile(key, signal) {
      const result = await drift.reconcile(key, signal);
      const pod = pods.lister.get(key);
      // Nor must a pod that gets no sidecar, as the whole of it shows, such as one in the network of its node.
      if (pod && !hasSidecar(pod)) tell(pod, drift.missed(key) ? false : undefined);
      return result;
    },
    repair: repairReconcile({
      client,
      breaker,
      missed: (key) => drift.missed(key),
      podsOf: (controller) =>
        new Set(pods.lister.byIndex(OF_CONTROLLER, controller).map(({ metadata }) => metadata.uid ?? '')),
      windowMs: repair.windowMs,
      unhealthy: () => ('fault' in basis().state ? 'the operator has no valid template' : undefined),
      events,
      onObstacle: repair.onObstacle,
      now,
    }),
    keys: () => pods.lister.list().map(keyOf),
    requeue: (namespace) => requeue(pods.lister.list(namespace)),
    templatesChanged() {
      const { state, options } = basis();
      const [before, after] = [judgedBy, 'set' in state ? state.set : undefined];
      judgedBy = after;
      const changed = before && after ? changedTemplates(before, after) : undefined;
      const isConcerned = ({ metadata: { namespace = '', annotations } }: KubeObject) => {
        const names = selectedNames(annotations?.[options.keys.templates], namespaceSettings(namespace));
        return [...names].some((name) => changed?.has(name));
      };
      const all = pods.lister.list();
      requeue(changed ? all.filter(isConcerned) : all);
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
