import type { Operation } from 'fast-json-patch';
import type { WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { CA_FIELD_MANAGER } from './names.ts';

/** One of our webhook configurations, and the cache that has it. */
export interface BundleTarget {
  readonly resource: Resource<WebhookConfiguration>;
  readonly name: string;
  readonly informer: Pick<Informer<WebhookConfiguration>, 'lister' | 'hasSynced'>;
}

/** A webhook configuration as the cache had it. A missing configuration needs no caBundle. */
export interface SeenConfiguration {
  readonly resource: Resource<WebhookConfiguration>;
  readonly configuration: WebhookConfiguration;
}

export interface CaBundleOptions {
  readonly client: Pick<KubeClient, 'jsonPatch'>;
  readonly targets: readonly BundleTarget[];
  readonly clock: Clock;
}

/**
 * Writes the caBundle of our webhook configurations: the authorities by which API servers trust us.
 *
 * Two leaders at the same time do no harm if each takes three steps in this order: observe the configurations, read
 * the Secret from the API server, distribute its bundle. A leader writes a newer bundle only after the older leader
 * has read the old Secret, and so after that one has observed. The older leader's write then gets a conflict. So an
 * older bundle never replaces a newer one.
 */
export class CaBundle {
  readonly #client: CaBundleOptions['client'];
  readonly #targets: readonly BundleTarget[];
  readonly #clock: Clock;
  #held: { readonly bundle: string; readonly since: number } | undefined;

  constructor({ client, targets, clock }: CaBundleOptions) {
    this.#client = client;
    this.#targets = targets;
    this.#clock = clock;
  }

  /** The configurations that exist; undefined until the caches are synced. */
  observe(): readonly SeenConfiguration[] | undefined {
    return observe(this.#targets);
  }

  /**
   * Writes the bundle (PEM) where it is missing. Returns for how long all configurations have held it, in
   * milliseconds; undefined if one does not yet. Rejects with a conflict if a configuration has changed since it
   * was observed.
   */
  async distribute(
    seen: readonly SeenConfiguration[],
    bundle: string,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const writes = seen
      .map((target) => ({ ...target, operations: bundleOperations(target.configuration, bundle) }))
      .filter(({ operations }) => operations.length > 0);
    if (writes.length > 0) {
      this.#held = undefined;
      for (const { resource, configuration, operations } of writes) {
        await this.#client.jsonPatch(
          resource,
          { name: configuration.metadata.name },
          [unchangedSince(configuration), ...operations],
          { fieldManager: CA_FIELD_MANAGER, signal },
        );
      }
      return undefined;
    }
    const now = this.#clock.now();
    if (this.#held?.bundle !== bundle) this.#held = { bundle, since: now };
    return now - this.#held.since;
  }
}

/** The configurations that exist; undefined until the caches are synced. */
export function observe(targets: readonly BundleTarget[]): readonly SeenConfiguration[] | undefined {
  if (!targets.every(({ informer }) => informer.hasSynced())) return undefined;
  return targets.flatMap(({ resource, name, informer }) => {
    const configuration = informer.lister.get(name);
    return configuration ? [{ resource, configuration }] : [];
  });
}

/** Whether every webhook of all these configurations holds the bundle (PEM). */
export function holdsBundle(seen: readonly SeenConfiguration[], bundle: string): boolean {
  return seen.every(({ configuration }) => bundleOperations(configuration, bundle).length === 0);
}

/** The operations that write the bundle (PEM) into every webhook of the configuration that lacks it. */
export function bundleOperations(
  { webhooks = [] }: WebhookConfiguration,
  bundle: string,
): readonly Operation[] {
  const value = Buffer.from(bundle).toString('base64');
  return webhooks.flatMap(({ clientConfig }, i) =>
    clientConfig.caBundle === value
      ? []
      : [{ op: 'add' as const, path: `/webhooks/${i}/clientConfig/caBundle`, value }],
  );
}

/** Makes the patch fail with a conflict if the object has changed: its webhooks may have another order. */
export function unchangedSince({ metadata }: WebhookConfiguration): Operation {
  return { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
}
