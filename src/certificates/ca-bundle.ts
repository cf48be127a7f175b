import type { Operation } from 'fast-json-patch';
import type { WebhookConfiguration } from '../kube/api/core-resources.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { CA_FIELD_MANAGER } from './names.ts';

/** A webhook configuration of ours and the cache in which it is seen. */
export interface BundleTarget {
  readonly resource: Resource<WebhookConfiguration>;
  readonly name: string;
  readonly informer: Pick<Informer<WebhookConfiguration>, 'lister' | 'hasSynced'>;
}

/** A webhook configuration as it was seen; one that does not exist is trusted by nobody and needs nothing. */
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
 * The caBundle of our webhook configurations: the authorities by which API servers trust us.
 *
 * Two leaders for a moment do no harm, if each takes its three steps in this order: observe the configurations, read
 * the Secret from the server, distribute the Secret's bundle. Whoever writes a bundle of a newer Secret does so after
 * the older leader has read the old one, thus after it has observed: the older one's write then meets a configuration
 * that has changed, and is refused. So no older bundle ever takes the place of a newer one.
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

  /** The configurations that exist; undefined as long as that is not known. */
  observe(): readonly SeenConfiguration[] | undefined {
    return observe(this.#targets);
  }

  /**
   * Writes the bundle (PEM) to where it is not, and says for how long, in milliseconds, it has been seen everywhere;
   * undefined: it has not yet been. Rejects with a conflict where a configuration has changed since it was observed.
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

/** The configurations that exist; undefined as long as that is not known. */
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

/** What makes every webhook of the configuration hold the bundle (PEM); nothing where each does. */
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

/** The server refuses the patch with a conflict when the object is another by now, its webhooks perhaps in another order. */
export function unchangedSince({ metadata }: WebhookConfiguration): Operation {
  return { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
}
