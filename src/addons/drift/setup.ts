import { Gauge, type Registry } from 'prom-client';
import { classify, type DriftBasis } from '../../injection/webhook/classify.ts';
import { controllerKey, isMarked, OF_CONTROLLER } from '../../injection/webhook/pod-cache.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import { controllerOf, type KubeObject, keyOf } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Logger } from '../../kube/util/log.ts';
import type { Core } from '../../operator/core.ts';
import { Drift } from './drift.ts';
import { RepairBreaker, repairReconcile } from './repair.ts';

/** The flags of `serve` for drift and repair. */
export interface DriftOptions {
  readonly repair: 'off' | 'report' | 'evict';
  /** In milliseconds. */
  readonly repairWindow: number;
}

const WORKERS = 2;

/** Sets up the search for pods whose sidecar is missing or stale, and repair. */
export function setUpDrift(
  manager: Pick<Manager, 'controller' | 'events' | 'leaderClient' | 'log' | 'registry'>,
  core: Pick<Core, 'template' | 'newPods' | 'namespaces' | 'pods' | 'decideOptions'>,
  { repair: mode, repairWindow: windowMs }: DriftOptions,
): void {
  const { leaderClient: client, events, log, registry } = manager;
  const { template, newPods, namespaces, pods, decideOptions } = core;
  // Repair needs exactly one worker.
  const [work, repair] = [manager.controller('drift', WORKERS), manager.controller('repair')];
  const { lister } = pods;
  const namespaceSettings = (name: string) => namespaces.cached(name);
  const basis: DriftBasis = {
    options: decideOptions,
    templates: (pod, namespace) => newPods.forPod({ controllerUid: controllerOf(pod)?.uid }, namespace),
  };
  const breaker = new RepairBreaker();
  const drift = new Drift({
    client,
    pods: lister,
    namespaceSettings,
    basis,
    chosen() {
      const { state, canary } = newPods.forPolicies();
      const sets = [state, template.templates.state].map((each) => ('set' in each ? each.set : undefined));
      return { sets, canary };
    },
    onFinding({ kind, pod }) {
      // Stale pods are only counted by a gauge: each change of the template makes all pods stale.
      if (kind !== 'missed') return;
      reportMissed(pod, events);
      if (mode === 'evict') repair.queue.add(keyOf(pod));
    },
  });
  const hasSidecar = (pod: KubeObject) => isMarked(pod, decideOptions.keys);
  /** Tells the breaker whether a pod has its sidecar; undefined: it asks for none. */
  const tell = (pod: KubeObject, injected: boolean | undefined) => {
    const { uid = '', creationTimestamp = '' } = pod.metadata;
    const controller = controllerKey(pod);
    const seen = { uid, createdAt: Date.parse(creationTimestamp), injected };
    // The next pod of the workload need not wait for its retry.
    if (breaker.seen(controller, seen, Date.now())) {
      for (const sibling of lister.byIndex(OF_CONTROLLER, controller)) repair.queue.add(keyOf(sibling));
    }
  };
  const check = (pod: KubeObject) => {
    // A user may give an evicted pod an opt-in that its workload lacks: that must not stop the repair of others.
    if (hasSidecar(pod)) tell(pod, true);
    else if (classify(pod, namespaceSettings(pod.metadata.namespace ?? ''), basis) === 'without')
      tell(pod, undefined);
    work.queue.add(keyOf(pod));
  };
  pods.addEventHandler({
    onAdd: check,
    onUpdate: (_, pod) => check(pod),
    onDelete: (pod) => work.queue.add(keyOf(pod)),
  });
  const again = (which: readonly KubeObject[]) => {
    const keys = which.map(keyOf);
    drift.reset(keys);
    for (const key of keys) work.queue.add(key);
  };
  newPods.onChanged(() => again(drift.concerned()));
  namespaces.onChanged((name) => again(lister.list(name)));
  driftMetrics(registry, drift, breaker);

  const reconcile: Reconcile = async (key, signal) => {
    const result = await drift.reconcile(key, signal);
    const pod = lister.get(key);
    // Nor must a pod that gets no sidecar, as the whole of it shows, such as one in the network of its node.
    if (pod && !hasSidecar(pod)) tell(pod, drift.missed(key) ? false : undefined);
    return result;
  };
  const after = (signal: AbortSignal) => waitForSync([pods], signal);
  // Both call it, because either may end last.
  const ended = () => {
    drift.forget();
    breaker.reset();
  };
  if (mode !== 'off') work.reconcile(reconcile, { keys: () => lister.list().map(keyOf), after, ended });
  const repairing = repairReconcile({
    client,
    breaker,
    missed: (key) => drift.missed(key),
    podsOf: (controller) => lister.byIndex(OF_CONTROLLER, controller),
    windowMs,
    unhealthy: () => ('fault' in template.templates.state ? 'the operator has no valid template' : undefined),
    events,
    onObstacle: logChanges(log),
    now: Date.now,
  });
  const waiting = (key: string) => regardingOf(PODS, lister.get(key));
  repair.reconcile(repairing, { keys: () => [], after, ended, waiting });
}

/** Returns a function that logs when the reason changes, and ignores repeated calls. */
function logChanges(log: Logger): (why: string | undefined) => void {
  let logged: string | undefined;
  return (why) => {
    if (why !== undefined && why !== logged) log.error({ why }, 'repair stopped, evicting no pods');
    if (why === undefined && logged !== undefined) log.info('repair resumed');
    logged = why;
  };
}

/** Reports a pod that was admitted without its sidecar, on its controller, or on the pod if it has none. */
function reportMissed(pod: KubeObject, events: EventRecorder): void {
  const note = `Pod ${pod.metadata.name} has no sidecar, because no operator replica answered or its namespace opted in later: recreate the pod`;
  events.event(regarding(pod), { type: 'Warning', reason: 'SidecarMissing', action: 'Inject', note });
}

function regarding(pod: KubeObject): KubeObject {
  const owner = controllerOf(pod);
  const { namespace } = pod.metadata;
  if (owner === undefined) return { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
  const { apiVersion, kind, name, uid } = owner;
  return { apiVersion, kind, metadata: { name, uid, ...(namespace !== undefined && { namespace }) } };
}

/** At most this many namespaces get their own series. The pods of the others are counted together. */
const MAX_NAMESPACES = 100;

/** Reads the pods whose sidecar is missing or stale, and why repair has stopped, at each scrape. */
function driftMetrics(registry: Registry, drift: Drift, breaker: RepairBreaker): void {
  new Gauge({
    name: 'envoy_initializer_drifted_pods',
    help: 'Pods whose sidecar is missing (missed) or from another template version (stale); on the leader',
    labelNames: ['namespace', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      const named = new Set<string>();
      for (const { kind, pod } of drift.findings) {
        const name = pod.metadata.namespace ?? '';
        const namespace = named.has(name) || named.size < MAX_NAMESPACES ? name : '<others>';
        named.add(namespace);
        this.inc({ namespace, kind });
      }
    },
  });
  new Gauge({
    name: 'envoy_initializer_repair_stopped',
    help: '1 if repair has stopped because a replacement has no sidecar either, else 0',
    registers: [registry],
    collect() {
      this.set(breaker.stopped === undefined ? 0 : 1);
    },
  });
}
