import { WEBHOOK_CONFIGURATIONS, type WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { Informers } from '../kube/cache/shared-informers.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { Controller, type Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { WorkQueue } from '../kube/workqueue/queue.ts';
import { exponentialLimiter } from '../kube/workqueue/rate-limiters.ts';
import { PROGRAM } from '../util/identity.ts';
import { CaBundle, trusts } from './ca-bundle.ts';
import {
  type BundleTarget,
  isRollingOut,
  observe,
  ownConfigurations,
  type SeenConfiguration,
} from './configurations.ts';
import type { CertificateMetrics } from './metrics.ts';
import type { Certificate } from './x509/certificate.ts';

export interface WebhookTrustOptions {
  readonly client: Pick<KubeClient, 'list' | 'jsonPatch'>;
  /** For the leader's part: rejects requests outside of a term. */
  readonly leaderClient: Pick<KubeClient, 'get' | 'jsonPatch'>;
  readonly clock: Clock;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  readonly log: Logger;
  readonly metrics?: CertificateMetrics;
  /** The caller runs them. */
  readonly informers: Informers;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly configurationName?: string;
}

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 60_000;

/** The webhook configurations, whether they trust what this replica serves, and the loops that they wake. */
export class WebhookTrust {
  readonly #options: WebhookTrustOptions;
  readonly #informers: Pick<Informer<never>, 'waitForSync'>[] = [];
  readonly #targets: readonly BundleTarget[];
  readonly #running = new Set<WorkQueue<string>>();
  #wasTrusted = false;

  constructor(options: WebhookTrustOptions) {
    const { configurationName: name = PROGRAM } = options;
    this.#options = options;
    this.#targets = WEBHOOK_CONFIGURATIONS.map((resource) => ({
      resource,
      name,
      informer: this.informer<WebhookConfiguration>(resource, name),
    }));
  }

  /** An informer of one object, whose changes wake the loops. */
  informer<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Informer<T> {
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const informer = this.#options.informers.informer(resource, selection);
    informer.addEventHandler({ onAdd: this.wake, onUpdate: this.wake, onDelete: this.wake });
    this.#informers.push(informer);
    return informer;
  }

  /** The configurations that exist; undefined until the caches are synced. */
  observe(): readonly SeenConfiguration[] | undefined {
    return observe(this.#targets);
  }

  /** For a term of the leader: each term measures itself for how long the caBundle has been in place. */
  newBundle(holdMs = 0): CaBundle {
    const { client, leaderClient, namespace, clock, wallClock } = this.#options;
    return new CaBundle({
      client: leaderClient,
      targets: this.#targets,
      clock,
      wallClock,
      isRollingOut: (signal) => isRollingOut(client, namespace, signal),
      holdMs,
    });
  }

  /** Makes the operator's namespace the owner of the configurations. */
  readonly own = (seen: readonly SeenConfiguration[], signal: AbortSignal): Promise<void> => {
    const { leaderClient: client, namespace, log } = this.#options;
    return ownConfigurations({ client, namespace, log }, seen, signal);
  };

  /**
   * Why a replica that serves this chain is not ready. After the first success it stays undefined: failing readiness
   * would not help, because all replicas are affected. Pass undefined for a chain that needs no caBundle of ours.
   */
  failure(chain: readonly Certificate[] | undefined, untrusted: string): string | undefined {
    if (this.#wasTrusted) return undefined;
    const seen = this.observe();
    if (chain && !seen) return 'webhook configurations not synced';
    if (chain && seen && !trusts(seen, chain)) return untrusted;
    this.#wasTrusted = true;
    return undefined;
  }

  /** Requests a reconcile of every loop that runs. */
  readonly wake = (): void => {
    for (const queue of this.#running) queue.add('');
  };

  /** Runs every replica's loop until the signal aborts. A missing object has no event: the end of a sync wakes, too. */
  async follow(loop: Loop, signal: AbortSignal): Promise<void> {
    const synced = this.#informers.map((each) => each.waitForSync(signal).then(this.wake, () => undefined));
    await Promise.all([this.run(loop, signal), ...synced]);
  }

  /** Runs the loop until the signal aborts: one reconcile at a time, and any number of wakes lead to one more. */
  async run(loop: Loop, signal: AbortSignal): Promise<void> {
    const { clock, wallClock, log } = this.#options;
    const limiter = exponentialLimiter<string>(FIRST_RETRY_MS, MAX_RETRY_MS);
    const queue = new WorkQueue<string>({ clock, limiter });
    const reconcile = (_: string, stop: AbortSignal) => loop.reconcile(stop);
    const controller = new Controller({
      name: loop.name,
      queue,
      reconcile,
      workers: 1,
      log,
      clock,
      wallClock,
    });
    loop.problem = () => controller.unsettled()[0]?.error;
    this.#running.add(queue);
    queue.add('');
    try {
      await controller.run(signal);
    } finally {
      this.#running.delete(queue);
    }
  }
}

/** A reconcile that changes wake. */
export interface Loop {
  readonly name: string;
  readonly reconcile: (signal: AbortSignal) => Promise<Result>;
  /** Why the last reconcile failed; undefined if it did not. */
  problem?: () => string | undefined;
}
