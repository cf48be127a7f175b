import { isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { keyOf, type ObjectKey, refOf } from '../../kube/api/object.ts';
import { apiVersionOf, regardingOf } from '../../kube/api/resource.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { EventDetails, EventRecorder } from '../../kube/events/events.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER } from '../api/names.ts';
import { NETWORKS, withoutFinalizer } from '../api/resources.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import { changesCounts, isChange, isRecount } from './status.ts';

/** The write is based on an outdated copy, or the object is deleted: read it again and retry. */
export class StaleCopyError extends Error {
  override readonly name = 'StaleCopyError';
}

/** The shortest time between two status writes of a Network that change only counts: each goes to all node agents. */
const PACE_MS = 10_000;

export interface NetworkWriterOptions {
  readonly client: Pick<KubeClient, 'mergePatch' | 'jsonPatch' | 'apply'>;
  readonly copies: MutationCache<Network>;
  readonly events: EventRecorder;
  readonly clock: Pick<Clock, 'now'>;
  readonly now: () => Date;
}

/**
 * Writes to a Network, and tells of it in Events. Each write is tied to the copy that it is based on, changes only its
 * own part, and returns the new object.
 * @throws StaleCopyError if another client wrote in between.
 */
export class NetworkWriter {
  readonly #options: NetworkWriterOptions;
  /** When the counts of each Network were written last. */
  readonly #countedAt = new Map<ObjectKey, number>();

  constructor(options: NetworkWriterOptions) {
    this.#options = options;
  }

  /** The time of day in the format of conditions: RFC 3339, whole seconds. */
  now(): string {
    const time = this.#options.now().toISOString();
    return time.replace(/\.\d+Z$/, 'Z');
  }

  addFinalizer(network: Network, signal: AbortSignal): Promise<Network> {
    const { resourceVersion, finalizers = [] } = network.metadata;
    // A merge patch replaces the whole list, so the resourceVersion protects finalizers of other controllers.
    const patch = { metadata: { resourceVersion, finalizers: [...finalizers, NETWORK_FINALIZER] } };
    return this.#written(this.#options.client.mergePatch(NETWORKS, refOf(network), patch, { signal }));
  }

  removeFinalizer(network: Network, signal: AbortSignal): Promise<Network> {
    const operations = withoutFinalizer(network, NETWORK_FINALIZER);
    return this.#written(this.#options.client.jsonPatch(NETWORKS, refOf(network), operations, { signal }));
  }

  /**
   * Tells what was restored, which no later attempt knows. Writes a changed status, then tells the other Events: a failed
   * write causes no second one. Resolves with the milliseconds until the retry of a status that must wait: of counts only.
   */
  async report(
    network: Network,
    status: NetworkStatus,
    events: readonly EventDetails[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const key = keyOf(network);
    const { clock } = this.#options;
    const restored = events.filter(({ reason }) => reason === 'Restored');
    for (const details of restored) this.tell(network, details);
    const countedAt = this.#countedAt.get(key);
    const waitMs = countedAt === undefined ? 0 : countedAt + PACE_MS - clock.now();
    if (waitMs > 0 && isRecount(network.status, status)) return waitMs;
    if (isChange(network.status, status)) await this.#writeStatus(network, status, signal);
    if (changesCounts(network.status, status)) this.#countedAt.set(key, clock.now());
    for (const details of events) if (!restored.includes(details)) this.tell(network, details);
    return undefined;
  }

  /** Call it when there is no such Network. */
  forget(key: ObjectKey): void {
    this.#countedAt.delete(key);
  }

  tell(network: Network, details: EventDetails): void {
    this.#options.events.event(regardingOf(NETWORKS, network), details);
  }

  #writeStatus(network: Network, status: NetworkStatus, signal: AbortSignal): Promise<Network> {
    const { name, namespace, uid, resourceVersion } = network.metadata;
    const body = {
      apiVersion: apiVersionOf(NETWORKS),
      kind: NETWORKS.kind,
      metadata: { name, namespace, uid, resourceVersion },
      status,
    };
    const options = { fieldManager: FIELD_MANAGER, force: true, subresource: 'status', signal };
    return this.#written(this.#options.client.apply(NETWORKS, refOf(network), body, options));
  }

  async #written(write: Promise<Network>): Promise<Network> {
    try {
      return this.#options.copies.add(await write);
    } catch (cause) {
      if (!isOvertaken(cause) && !isNotFound(cause)) throw cause;
      throw new StaleCopyError('the Network was changed or deleted since it was read: read it again', {
        cause,
      });
    }
  }
}
