import type { Logger } from 'pino';
import type { ServeOptions } from '../config.ts';
import { keysFor } from '../inject/keys.ts';
import { isNotFound, retryAfterMs } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import type { Resource } from '../kube/resource.ts';
import { sleep } from '../kube/sleep.ts';
import { knowsPolicies, PolicyKeeper, type PolicyMetrics } from '../policy/keeper.ts';
import { type LivePolicyObject, POLICIES, POLICY_BINDINGS } from '../policy/resources.ts';
import type { Clock } from '../workqueue/clock.ts';
import { allSynced } from './all-synced.ts';
import { askAgainMs } from './ask-again.ts';
import { informerLog } from './informer-log.ts';
import type { MakeController } from './led-controller.ts';
import type { TemplateDuty } from './template-duty.ts';

export interface PolicyDutyOptions {
  readonly options: ServeOptions;
  /** For the informers, on every replica. */
  readonly client: KubeClient;
  /** For what is written, by the leader alone. */
  readonly leaderClient: KubeClient;
  readonly template: Pick<TemplateDuty, 'templates' | 'onAdopted'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PolicyMetrics;
  readonly makeController: MakeController;
}

/** The template as policies that the API server runs by itself. */
export interface PolicyDuty {
  /** Keeps the caches, on every replica, until the signal aborts; nothing as long as the API server knows no policies. */
  watch(signal: AbortSignal): Promise<void>;
  /** Keeps the policies, for as long as this process leads. */
  lead(signal: AbortSignal): Promise<void>;
  /** For /debug/controllers. */
  debug(): unknown;
}

const RETRY_MS = 5_000;
const KEY = 'policies';
const DISCOVERY = `/apis/${POLICIES.group}/${POLICIES.version}`;

export function policyDuty(duty: PolicyDutyOptions): PolicyDuty {
  const { options, client, leaderClient, template, makeController, clock, log, metrics } = duty;
  const controller = makeController('policy', 1);
  /** However often it is asked for, there is one reconcile, and one more after it. */
  const wake = () => controller.queue.add(KEY);
  const live = { policies: informer(duty, POLICIES), bindings: informer(duty, POLICY_BINDINGS) };
  const informers = Object.values(live);
  for (const each of informers) {
    each.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  }
  template.onAdopted(wake);
  const keeper = new PolicyKeeper({
    client: leaderClient,
    live,
    templates: () => template.templates.state,
    compile: {
      keys: keysFor(options.annotation),
      requireAnnotation: options.requireAnnotation,
      operatorNamespace: options.namespace,
      name: options.initializerName,
      // Behind it stands the webhook, which refuses what it must.
      alone: false,
    },
    enabled: options.policy === 'auto',
    log,
    metrics,
  });

  return {
    async watch(signal) {
      metrics.kept(0);
      if (await supported(client, clock, log, signal)) {
        await Promise.all(informers.map((each) => each.run(signal)));
      }
    },
    async lead(signal) {
      // Not as long as the API server knows no policies.
      if (!(await allSynced(informers, signal))) return;
      await controller.run(
        async (_, running) => {
          await keeper.reconcile(running);
          return {};
        },
        [KEY],
        signal,
      );
      metrics.kept(0);
    },
    debug: () => controller.debug(),
  };
}

function informer({ client, clock, log }: PolicyDutyOptions, resource: Resource<LivePolicyObject>) {
  return new Informer<LivePolicyObject>({
    client,
    clock,
    resource,
    labelSelector: 'app=envoy-initializer',
    onError: informerLog(log, resource.plural),
  });
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
    let delayMs = askAgainMs();
    try {
      if (await servesPolicies(client, signal)) {
        if (known === false) log.info('the API server knows MutatingAdmissionPolicy by now');
        return true;
      }
      if (known === undefined) {
        log.info(
          'this API server knows no MutatingAdmissionPolicy (Kubernetes 1.36 does): the webhook does it all',
        );
      }
      known = false;
    } catch (err) {
      if (signal.aborted) break;
      log.warn({ err }, 'the API server cannot be asked for its policies: asking again');
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
