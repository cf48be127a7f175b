import { ApiError } from '../../../kube/api/api-error.ts';
import type { ObjectKey } from '../../../kube/api/object.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Logger } from '../../../kube/util/log.ts';
import { NETWORKS } from '../../api/resources.ts';
import type { Network } from '../../api/types.ts';
import type { NeutronProvider } from './neutron.ts';
import type { Found } from './neutron-api.ts';
import { type Owner, RETAIN_TAG } from './neutron-marker.ts';
import type { NeutronStore } from './neutron-store.ts';
import { isUnavailable } from './openstack/openstack-error.ts';

export interface NeutronMetrics {
  /** Whether Neutron was there for us when it was last asked. */
  available(is: boolean): void;
}

export interface NeutronGarbageCollectorOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly store: NeutronStore;
  readonly provider: Pick<NeutronProvider, 'removeOf'>;
  readonly clusterId: (signal: AbortSignal) => Promise<string>;
  /** The cache's; undefined where it has none. */
  readonly known: (key: ObjectKey) => Network | undefined;
  readonly metrics: NeutronMetrics;
  readonly log: Logger;
}

/**
 * Looks after what no Network asks for: whether Neutron answers at all, and networks that their Network left behind.
 * There are such where somebody took our finalizer off by hand, or where a creation that was given up (the process
 * died, the answer was too slow) came to pass all the same, after its Network was gone.
 */
export class NeutronGarbageCollector {
  readonly #options: NeutronGarbageCollectorOptions;
  #state = '';

  constructor(options: NeutronGarbageCollectorOptions) {
    this.#options = options;
  }

  async check(signal: AbortSignal): Promise<void> {
    const { store, clusterId } = this.#options;
    try {
      await store.refreshed(signal);
    } catch (error) {
      if (signal.aborted || !isUnavailable(error)) throw error;
      this.#tell(error.message);
      return;
    }
    this.#tell(undefined);
    const cluster = await clusterId(signal);
    for (const { owner, found } of store.owned()) {
      if (owner.cluster !== cluster || (await this.#isWanted(owner, signal))) continue;
      // Its Network may have gone in good order while others were looked at.
      if (store.known(owner.uid).length > 0) await this.#remove(owner, found, signal);
    }
  }

  async #remove(owner: Owner, { network }: Found, signal: AbortSignal): Promise<void> {
    const { provider, log } = this.#options;
    const retain = network.tags.includes(RETAIN_TAG);
    const removal = await provider.removeOf(owner, retain, signal);
    const fields = { key: owner.key, uid: owner.uid, id: network.id };
    if (removal.kind === 'gone') {
      log.warn(
        fields,
        retain ? 'let go of a network that outlives its Network' : 'removed a leftover network',
      );
    } else {
      log.warn({ ...fields, reason: removal.message }, 'a leftover network cannot be removed yet');
    }
  }

  /** Only the API server itself can say that a Network is gone, and it must say so in so many words. */
  async #isWanted({ key, uid }: Owner, signal: AbortSignal): Promise<boolean> {
    const { client, known } = this.#options;
    if (known(key)?.metadata.uid === uid) return true;
    const [namespace = '', name = ''] = key.split('/');
    try {
      const live = await client.get(NETWORKS, { namespace, name }, { signal });
      return live.metadata.uid === uid;
    } catch (error) {
      // A 404 without a reason is of the resource type itself, which may come back.
      if (error instanceof ApiError && error.status === 404 && error.reason === 'NotFound') return false;
      throw error;
    }
  }

  /** Each change once; undefined: it answers. */
  #tell(problem: string | undefined): void {
    const { metrics, log } = this.#options;
    metrics.available(problem === undefined);
    if (this.#state === (problem ?? 'available')) return;
    this.#state = problem ?? 'available';
    if (problem === undefined) log.info('Neutron answers');
    else log.warn({ reason: problem }, 'Neutron is not available');
  }
}
