import { PODS } from '../../kube/api/core-resources.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import { asWaiting } from '../../kube/manager/managed-controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Logger } from '../../kube/util/log.ts';
import type { Core } from '../../operator/core.ts';
import { setUpDriftController } from './drift-controller.ts';
import { driftMetrics } from './metrics.ts';

/** The flags of `serve` for drift and repair. */
export interface DriftOptions {
  readonly repair: 'off' | 'report' | 'evict';
  /** In milliseconds. */
  readonly repairWindow: number;
}

const WORKERS = 2;

/** Sets up the search for pods whose sidecar is missing or stale, and repair. */
export function setUpDrift(
  manager: Manager,
  { template, namespaces, pods, decide }: Pick<Core, 'template' | 'namespaces' | 'pods' | 'decide'>,
  { repair, repairWindow }: DriftOptions,
): void {
  const { leaderClient: client, events, log } = manager;
  const after = (signal: AbortSignal) => waitForSync([pods], signal);
  const [driftWork, repairWork] = [manager.controller('drift', WORKERS), manager.controller('repair')];
  const drift = setUpDriftController({
    client,
    pods,
    namespaceSettings: (name) => namespaces.cached(name),
    basis: () => ({ options: decide, state: template.templates.state }),
    queue: driftWork.queue,
    repairQueue: repairWork.queue,
    repair: { evict: repair === 'evict', windowMs: repairWindow, onObstacle: logChanges(log) },
    events,
    now: Date.now,
  });
  template.onAdopted(() => drift.templatesChanged());
  namespaces.onChanged((name) => drift.requeue(name));
  driftMetrics(manager.registry).watch({ findings: drift.findings, stopped: drift.stopped });
  // Both call it, because either may end last.
  const ended = () => drift.forget();
  if (repair !== 'off') driftWork.reconcile(drift.reconcile, { keys: drift.keys, after, ended });
  repairWork.reconcile(drift.repair, {
    keys: () => [],
    after,
    ended,
    waiting: (key) => asWaiting(PODS, pods.lister.get(key)),
  });
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
