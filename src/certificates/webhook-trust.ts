import { WEBHOOK_CONFIGURATIONS } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import { type Informer, waitForSync } from '../kube/cache/informer.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { toError } from '../kube/util/errors.ts';
import { PROGRAM } from '../util/identity.ts';
import { CaBundle, type Distribution, trusts } from './ca-bundle.ts';
import { isRollingOut, ownConfigurations, type SeenConfiguration } from './configurations.ts';
import type { Certificate } from './x509/certificate.ts';

/** The only key: a reconcile is about all certificates. */
const KEY = 'certificates';
const SCOPE = { maxRetryMs: 60_000 };

export type WebhookTrust = ReturnType<typeof setUpWebhookTrust>;

/**
 * Sets up the webhook configurations, whether they trust what this replica serves, and the controllers that their changes
 * wake: one of each replica, and one of the leader. For `holdMs`, the authorities of others stay in the caBundle without
 * a rollout.
 */
export function setUpWebhookTrust(manager: Manager, namespace: string, holdMs: number) {
  const { client, leaderClient, clock, log } = manager;
  const ofReplica = manager.controller('certificates', 1, { ...SCOPE, everyReplica: true });
  const ofLeader = manager.controller('certificate-keeper', 1, SCOPE);
  const caBundle = new CaBundle({
    client: leaderClient,
    clock,
    wallClock: Date.now,
    isRollingOut: (signal) => isRollingOut(client, namespace, signal),
    holdMs,
  });
  const informers: Pick<Informer<never>, 'waitForSync'>[] = [];
  let wasTrusted = false;
  let problem: string | undefined;

  /** Requests a reconcile of both controllers. */
  function wake(): void {
    for (const { queue } of [ofReplica, ofLeader]) queue.add(KEY);
  }

  /** An informer of one object, whose changes wake the controllers. */
  function informerOf<T extends KubeObject>(resource: Resource<T>, name: string, of?: string): Informer<T> {
    const informer = manager.informer(resource, { namespace: of, fieldSelector: `metadata.name=${name}` });
    informer.addEventHandler({ onAdd: wake, onUpdate: wake, onDelete: wake });
    informers.push(informer);
    return informer;
  }

  const targets = WEBHOOK_CONFIGURATIONS.map((resource) => ({
    resource,
    informer: informerOf(resource, PROGRAM),
  }));

  /** The configurations that exist; undefined until the caches are synced. */
  function observe(): readonly SeenConfiguration[] | undefined {
    if (!targets.every(({ informer }) => informer.hasSynced())) return undefined;
    return targets.flatMap(({ resource, informer }) => {
      const configuration = informer.lister.get(PROGRAM);
      return configuration ? [{ resource, configuration }] : [];
    });
  }

  return {
    wake,
    informerOf,
    observe,
    /**
     * Writes the bundle (PEM), if it is known, into the configurations that lack it. If none does, makes the operator's
     * namespace their owner, so that they are deleted with it.
     */
    async distribute(
      seen: readonly SeenConfiguration[],
      bundle: string | undefined,
      signal: AbortSignal,
    ): Promise<Distribution | undefined> {
      const distribution = bundle === undefined ? undefined : await caBundle.distribute(seen, bundle, signal);
      if (distribution && distribution.heldForMs === undefined) log.info('caBundle written');
      else await ownConfigurations(leaderClient, log, namespace, seen, signal);
      return distribution;
    },
    /** Sets what each replica does, once the caches are synced. */
    everyReplica(reconcile: (signal: AbortSignal) => Promise<Result>): void {
      const remembering = async (_: string, signal: AbortSignal) => {
        try {
          const result = await reconcile(signal);
          problem = undefined;
          return result;
        } catch (err) {
          problem = toError(err).message;
          throw err;
        }
      };
      const after = (signal: AbortSignal) => waitForSync(informers, signal);
      ofReplica.reconcile(remembering, { keys: () => [KEY], after });
    },
    /** Why the last reconcile of this replica failed; undefined if it did not. */
    problem: () => problem,
    /** Sets what the leader does. Each term measures itself for how long the caBundle has been in place. */
    leader(reconcile: (signal: AbortSignal) => Promise<Result>): void {
      const ended = () => caBundle.forget();
      ofLeader.reconcile((_, signal) => reconcile(signal), { keys: () => [KEY], ended });
    },
    /**
     * Why a replica that serves this chain is not ready. After the first success it stays undefined: failing readiness
     * would not help, because all replicas are affected.
     */
    failure(chain: readonly Certificate[], untrusted: string): string | undefined {
      if (wasTrusted) return undefined;
      const seen = observe();
      if (!seen) return 'webhook configurations not synced';
      if (!trusts(seen, chain)) return untrusted;
      wasTrusted = true;
      return undefined;
    },
  };
}
