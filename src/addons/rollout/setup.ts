import { cachedAge } from '../../injection/envoy/configuration-age.ts';
import { ENVOY_CONFIG_MAP } from '../../injection/envoy/files.ts';
import { DRAIN } from '../../injection/keys.ts';
import { CONFIG_MAPS, COPIED_CONFIG_MAPS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Core } from '../../operator/core.ts';
import { podActuator } from './actuator.ts';
import { rolloutReconcile, STEP_MS } from './controller.ts';
import { CONTROLLER_REVISIONS, revisionName } from './controller-revision.ts';
import { rolloutEvents } from './events.ts';
import { PodMemory } from './memory.ts';
import { rolloutMetrics } from './metrics.ts';
import { observedPods } from './observe.ts';
import type { RolloutOptions } from './revision-history.ts';
import { setUpRevisions, type TemplateRevisions } from './revisions.ts';

/** Another text than that of the fleet: whole pods are watched only while there is a rollout. */
const OF_LIVE_PODS = 'status.phase!=Failed,status.phase!=Succeeded';
const KEY = 'rollout';

/** Sets up the rollout of new templates to running pods. Without a strategy it only puts drained pods back. */
export function setUpRollout(manager: Manager, core: Core, options: RolloutOptions): void {
  const { namespaces, decideOptions } = core;
  const { namespace, configmap: name } = options;
  const { leaderClient: client, log } = manager;
  const revisions = setUpRevisions(manager, core, options);
  core.newPods.chooseBy(revisions);
  const { keys } = decideOptions;
  const work = manager.controller(KEY);
  const wake = () => work.queue.addAfter(KEY, STEP_MS);
  const pods = manager.informer(observedPods(keys), {
    fieldSelector: OF_LIVE_PODS,
    startWhen: async (signal) =>
      (await waitForSync([core.pods], signal)) && untilRollout(revisions, core.pods.lister, signal),
  });
  const configMaps = manager.informer(COPIED_CONFIG_MAPS, {
    fieldSelector: `metadata.name=${ENVOY_CONFIG_MAP}`,
  });
  const memory = new PodMemory();
  const configIn = (of: string) => cachedAge(configMaps.lister.get(`${of}/${ENVOY_CONFIG_MAP}`));
  const regarding = () =>
    regardingOf(CONFIG_MAPS, revisions.history.source() ?? { metadata: { namespace, name } });
  const revisionOf = (hash: string) =>
    regardingOf(CONTROLLER_REVISIONS, { metadata: { namespace, name: revisionName(name, hash) } });
  const events = rolloutEvents(manager.events, regarding, revisionOf);
  const metrics = rolloutMetrics(manager.registry);
  const now = Date.now;
  const actuator = podActuator({
    client,
    decideOptions,
    memory,
    configOf: (of = '') => configIn(of)?.hash,
    setOf: (status) => revisions.history.find(status),
    now,
  });
  pods.addEventHandler({
    onAdd: wake,
    onUpdate: wake,
    onDelete({ metadata, observed }) {
      memory.forget(metadata.uid ?? '');
      if (observed?.owner) memory.removed(observed, now());
      wake();
    },
  });
  configMaps.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  revisions.onChanged(wake);
  namespaces.onChanged(() => {
    memory.reconsider();
    wake();
  });
  const reconcile = rolloutReconcile({
    ...revisions,
    pods: pods.lister,
    memory,
    configIn,
    namespaceSettings: (of) => namespaces.cached(of),
    actuator,
    events,
    metrics,
    log,
    now,
  });
  work.reconcile(reconcile, {
    keys: () => [KEY],
    after: (signal) => waitForSync([pods, configMaps], signal),
    waiting: regarding,
    ended() {
      memory.clear();
      events.forget();
      metrics.stepped(undefined);
    },
  });
}

/**
 * Resolves with true once there is a strategy that changes pods, or an earlier one has left pods drained; with false when
 * the signal aborts.
 */
function untilRollout(
  { history, onChanged }: TemplateRevisions,
  fleet: Lister<KubeObject>,
  signal: AbortSignal,
): Promise<boolean> {
  const isDrained = ({ metadata }: KubeObject) => metadata.annotations?.[DRAIN] !== undefined;
  return new Promise((resolve) => {
    const look = () => {
      if (history.current() || (history.stored().length > 0 && fleet.list().some(isDrained))) resolve(true);
    };
    signal.addEventListener('abort', () => resolve(false), { once: true });
    onChanged(look);
    look();
  });
}
