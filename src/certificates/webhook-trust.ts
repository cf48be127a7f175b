import { WEBHOOK_CONFIGURATIONS, type WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import { type Informer, waitForSync } from '../kube/cache/informer.ts';
import type { Controller, Reconcile } from '../kube/controller/controller.ts';

import type { Manager } from '../kube/manager/manager.ts';
import { toError } from '../kube/util/errors.ts';
import { PROGRAM } from '../util/identity.ts';
import { CaBundle, type Distribution, trusts } from './ca-bundle.ts';
import { isRollingOut, ownConfigurations, type SeenConfiguration } from './configurations.ts';
import type { Certificate } from './x509/certificate.ts';

/** The only key: a reconcile is about all certificates. */
const KEY = 'certificates';
const SCOPE = { maxRetryMs: 60_000 };

/**
 * The webhook configurations, whether they trust what this replica serves, and the controllers that their changes wake:
 * one of each replica, and one of the leader.
 */
export class WebhookTrust {
  readonly #everyReplica: Controller;
  readonly #leader: Controller;
  readonly #bundle: CaBundle;
  readonly #informers: Pick<Informer<never>, 'waitForSync'>[] = [];
  readonly #manager: Manager;
  readonly #namespace: string;
  readonly #targets: readonly {
    readonly resource: Resource<WebhookConfiguration>;
    readonly informer: Informer<WebhookConfiguration>;
  }[];
  #wasTrusted = false;
  #problem: string | undefined;

  /** For `holdMs`, the authorities of others stay in the caBundle without a rollout. */
  constructor(manager: Manager, namespace: string, holdMs: number) {
    const { client, leaderClient, clock } = manager;
    this.#manager = manager;
    this.#namespace = namespace;
    this.#everyReplica = manager.controller('certificates', 1, { ...SCOPE, everyReplica: true });
    this.#leader = manager.controller('certificate-keeper', 1, SCOPE);
    this.#targets = WEBHOOK_CONFIGURATIONS.map((resource) => ({
      resource,
      informer: this.informer(resource, PROGRAM),
    }));
    this.#bundle = new CaBundle({
      client: leaderClient,
      clock,
      wallClock: Date.now,
      isRollingOut: (signal) => isRollingOut(client, namespace, signal),
      holdMs,
    });
  }

  /** An informer of one object, whose changes wake the controllers. */
  informer<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Informer<T> {
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const informer = this.#manager.informer(resource, selection);
    informer.addEventHandler({ onAdd: this.wake, onUpdate: this.wake, onDelete: this.wake });
    this.#informers.push(informer);
    return informer;
  }

  /** Requests a reconcile of both controllers. */
  readonly wake = (): void => {
    for (const { queue } of [this.#everyReplica, this.#leader]) queue.add(KEY);
  };

  /** The configurations that exist; undefined until the caches are synced. */
  observe(): readonly SeenConfiguration[] | undefined {
    if (!this.#targets.every(({ informer }) => informer.hasSynced())) return undefined;
    return this.#targets.flatMap(({ resource, informer }) => {
      const configuration = informer.lister.get(PROGRAM);
      return configuration ? [{ resource, configuration }] : [];
    });
  }

  /**
   * Writes the bundle (PEM), if it is known, into the configurations that lack it. If none does, makes the operator's
   * namespace their owner, so that they are deleted with it.
   */
  async distribute(
    seen: readonly SeenConfiguration[],
    bundle: string | undefined,
    signal: AbortSignal,
  ): Promise<Distribution | undefined> {
    const distribution =
      bundle === undefined ? undefined : await this.#bundle.distribute(seen, bundle, signal);
    if (distribution && distribution.heldForMs === undefined) this.#manager.log.info('caBundle written');
    else await ownConfigurations(this.#manager, this.#namespace, seen, signal);
    return distribution;
  }

  /** Sets what each replica does, once the caches are synced. */
  everyReplica(reconcile: (signal: AbortSignal) => ReturnType<Reconcile>): void {
    const after = async (signal: AbortSignal) => void (await waitForSync(this.#informers, signal));
    const remembering: Reconcile = async (_, signal) => {
      try {
        const result = await reconcile(signal);
        this.#problem = undefined;
        return result;
      } catch (err) {
        this.#problem = toError(err).message;
        throw err;
      }
    };
    this.#everyReplica.reconcile(remembering, { keys: () => [KEY], after });
  }

  /** Why the last reconcile of this replica failed; undefined if it did not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Sets what the leader does. Each term measures itself for how long the caBundle has been in place. */
  leader(reconcile: (signal: AbortSignal) => ReturnType<Reconcile>): void {
    const ended = () => this.#bundle.forget();
    this.#leader.reconcile((_, signal) => reconcile(signal), { keys: () => [KEY], ended });
  }

  /**
   * Why a replica that serves this chain is not ready. After the first success it stays undefined: failing readiness
   * would not help, because all replicas are affected.
   */
  failure(chain: readonly Certificate[], untrusted: string): string | undefined {
    if (this.#wasTrusted) return undefined;
    const seen = this.observe();
    if (!seen) return 'webhook configurations not synced';
    if (!trusts(seen, chain)) return untrusted;
    this.#wasTrusted = true;
    return undefined;
  }
}
