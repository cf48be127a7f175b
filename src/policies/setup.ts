import type { Logger } from 'pino';
import { isNotFound, retryAfterMs } from '../kube/api/api-error.ts';
import type { Resource } from '../kube/api/resource.ts';
import { Informer } from '../kube/cache/informer.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { MakeController } from '../kube/controller/leader-controller.ts';
import { sleep } from '../kube/util/sleep.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { keysFor } from '../sidecar/keys.ts';
import type { TemplateState } from '../sidecar/template/template-set.ts';
import { askAgainMs } from './ask-again.ts';
import { knowsPolicies, PolicyController, type PolicyMetrics } from './controller.ts';
import { type LivePolicyObject, POLICIES, POLICY_BINDINGS } from './resources.ts';

/** The flags of `serve` that policies use. */
export interface PolicyOptions {
  readonly namespace: string;
  readonly annotation: string;
  readonly requireAnnotation: boolean;
  readonly initializerName: string;
  readonly policy: 'auto' | 'off';
}

export interface PolicyDutyOptions {
  readonly options: PolicyOptions;
  /** For the informers, on every replica. */
  readonly client: KubeClient;
  /** For writes, which only the leader makes. */
  readonly leaderClient: KubeClient;
  readonly template: {
    readonly templates: { readonly state: TemplateState };
    onAdopted(listener: () => void): void;
  };
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PolicyMetrics;
  readonly makeController: MakeController;
}

/** Runs the policy controller and its caches. */
export interface PolicyDuty {
  /** Runs the caches on every replica until the signal aborts, once the API server serves policies. */
  watch(signal: AbortSignal): Promise<void>;
  /** Reconciles the policies while this process leads. */
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
  /** The queue holds the key once, so wakes during a reconcile cause one more reconcile. */
  const wake = () => controller.queue.add(KEY);
  const live = { policies: informer(duty, POLICIES), bindings: informer(duty, POLICY_BINDINGS) };
  const informers = Object.values(live);
  for (const each of informers) {
    each.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
  }
  template.onAdopted(wake);
  const keeper = new PolicyController({
    client: leaderClient,
    live,
    templates: () => template.templates.state,
    compile: {
      keys: keysFor(options.annotation),
      requireAnnotation: options.requireAnnotation,
      operatorNamespace: options.namespace,
      name: options.initializerName,
      // The webhook runs too, and rejects pods if it must.
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
      // Waits until the API server serves policies.
      if (!(await waitForSync(informers, signal))) return;
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

/** Resolves with true once the API server serves policies, maybe after an upgrade; with false if the signal aborts. */
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
        if (known === false) log.info('the API server now serves MutatingAdmissionPolicy');
        return true;
      }
      if (known === undefined) {
        log.info(
          'the API server does not serve MutatingAdmissionPolicy (Kubernetes 1.36 does): only the webhook injects',
        );
      }
      known = false;
    } catch (err) {
      if (signal.aborted) break;
      log.warn({ err }, 'cannot read whether the API server serves policies, retrying');
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
