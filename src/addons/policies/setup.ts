import { Gauge } from 'prom-client';
import { isNotFound, retryAfterMs } from '../../kube/api/api-error.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Logger } from '../../kube/util/log.ts';
import { sleep } from '../../kube/util/sleep.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import type { Core } from '../../operator/core.ts';
import { knowsPolicies, PolicyController } from './controller.ts';
import { POLICIES, POLICY_BINDINGS } from './resources.ts';

/** The flags of `serve` that policies look at. */
export interface PolicyOptions {
  readonly initializerName: string;
  readonly policy: 'auto' | 'off';
}

const RETRY_MS = 5_000;
/** The time between checks of what the API server serves, which an upgrade may change; more at random, for replicas to differ. */
const [PERIOD_MS, JITTER_MS] = [600_000, 120_000];
const KEY = 'policies';
const DISCOVERY = `/apis/${POLICIES.group}/${POLICIES.version}`;

/** The template as policies that the API server runs, once it serves them; kept by the leader. */
export function setUpPolicies(
  manager: Manager,
  {
    newPods,
    serverMinor,
    namespaces,
    decideOptions,
  }: Pick<Core, 'newPods' | 'serverMinor' | 'namespaces' | 'decideOptions'>,
  options: PolicyOptions,
): void {
  const { leaderClient, log } = manager;
  const policies = new Gauge({
    name: 'envoy_initializer_policies',
    help: 'MutatingAdmissionPolicies that this process maintains as the leader; 0 if policies are off or not supported',
    registers: [manager.registry],
  });
  const work = manager.controller('policy');
  /** The queue holds the key once, so wakes during a reconcile cause one more reconcile. */
  const wake = () => work.queue.add(KEY);
  const live = informersOf(manager);
  const informers = Object.values(live);
  for (const each of informers) each.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  newPods.onChanged(wake);
  serverMinor.onChanged(wake);
  namespaces.onUnseen(wake);
  const controller = new PolicyController({
    client: leaderClient,
    live,
    templates: () => newPods.forPolicies(),
    serverMinor: serverMinor.current,
    unseen: namespaces.unseen,
    compile: {
      ...decideOptions,
      name: options.initializerName,
      // The webhook runs too, and rejects pods if it must.
      alone: false,
    },
    enabled: options.policy === 'auto',
    log,
    kept: (count) => policies.set(count),
  });
  work.reconcile((_, signal) => controller.reconcile(signal), {
    keys: () => [KEY],
    // Waits until the API server serves policies.
    after: (signal) => waitForSync(informers, signal),
    ended: () => policies.set(0),
  });
}

function informersOf(manager: Manager) {
  const { client, clock, log } = manager;
  let known: Promise<boolean> | undefined;
  const selection = {
    labelSelector: 'app=envoy-initializer',
    startWhen(signal: AbortSignal) {
      known ??= supported(client, clock, log, signal);
      return known;
    },
  };
  return {
    policies: manager.informer(POLICIES, selection),
    bindings: manager.informer(POLICY_BINDINGS, selection),
  };
}

/** Resolves with true once the API server knows policies, which an upgrade may bring; with false when the signal aborts. */
async function supported(
  client: KubeClient,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  let known: boolean | undefined;
  while (!signal.aborted) {
    let delayMs = PERIOD_MS + JITTER_MS * Math.random();
    try {
      if (await servesPolicies(client, signal)) {
        if (known === false) log.info('the API server supports MutatingAdmissionPolicy now');
        return true;
      }
      if (known === undefined) {
        log.info(
          'the API server does not support MutatingAdmissionPolicy (Kubernetes 1.36 does): the webhook injects all pods',
        );
      }
      known = false;
    } catch (err) {
      if (signal.aborted) break;
      log.warn({ err }, 'cannot list the admission policies, retrying');
      delayMs = Math.max(RETRY_MS, retryAfterMs(err));
    }
    await sleep(clock, delayMs, signal).catch(() => undefined);
  }
  return false;
}

async function servesPolicies(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    return knowsPolicies(await client.request('GET', DISCOVERY, { signal }));
  } catch (err) {
    if (isNotFound(err)) return false;
    throw err;
  }
}
