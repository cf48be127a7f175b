import { ApiError } from '../../kube/api/api-error.ts';
import type { ObjectKey } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Logger } from '../../kube/util/log.ts';
import { NETWORKS } from '../../networks/api/resources.ts';
import type { Network } from '../../networks/api/types.ts';
import { type Owner, RETAIN_TAG } from './marker.ts';
import type { NeutronProvider } from './neutron.ts';
import { isUnavailable } from './openstack/error.ts';
import type { Found } from './plan.ts';
import type { NeutronStore } from './store.ts';

export interface NeutronMetrics {
  /** Whether Neutron answered the last check. */
  available(is: boolean): void;
}

export interface NeutronGarbageCollectorOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly store: NeutronStore;
  readonly provider: Pick<NeutronProvider, 'removeOf'>;
  readonly clusterId: (signal: AbortSignal) => Promise<string>;
  readonly known: (key: ObjectKey) => Network | undefined;
  readonly metrics: NeutronMetrics;
  readonly log: Logger;
}

/**
 * Checks regularly whether Neutron answers, and removes leftovers of deleted Networks. A leftover exists if a user
 * removed the finalizer, or if a creation without an answer (crash, timeout) succeeded after its Network was deleted.
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
      this.#report(error.message);
      return;
    }
    this.#report(undefined);
    const cluster = await clusterId(signal);
    for (const { owner, found } of store.owned()) {
      if (owner.cluster !== cluster || (await this.#isWanted(owner, signal))) continue;
      // Meanwhile, the deletion of its Network may have removed it.
      if (store.known(owner.uid).length > 0) await this.#remove(owner, found, signal);
    }
  }

  async #remove(owner: Owner, { network }: Found, signal: AbortSignal): Promise<void> {
    const { provider, log } = this.#options;
    const retain = network.tags.includes(RETAIN_TAG);
    const removal = await provider.removeOf(owner, retain, signal);
    const fields = { key: owner.key, uid: owner.uid, id: network.id };
    if (removal.kind === 'gone') {
      log.warn(fields, retain ? 'released a retained network' : 'removed a leftover network');
    } else {
      log.warn({ ...fields, reason: removal.message }, 'cannot remove a leftover network yet');
    }
  }

  /** Whether the Network exists. Only a clear answer of the API server counts as a deletion. */
  async #isWanted({ key, uid }: Owner, signal: AbortSignal): Promise<boolean> {
    const { client, known } = this.#options;
    if (known(key)?.metadata.uid === uid) return true;
    const [namespace = '', name = ''] = key.split('/');
    try {
      const live = await client.get(NETWORKS, { namespace, name }, { signal });
      return live.metadata.uid === uid;
    } catch (error) {
      // A 404 without a reason means that the CRD is missing, which may be temporary.
      if (error instanceof ApiError && error.status === 404 && error.reason === 'NotFound') return false;
      throw error;
    }
  }

  /** Logs each change once; `undefined` means that Neutron answers. */
  #report(problem: string | undefined): void {
    const { metrics, log } = this.#options;
    metrics.available(problem === undefined);
    if (this.#state === (problem ?? 'available')) return;
    this.#state = problem ?? 'available';
    if (problem === undefined) log.info('Neutron answers');
    else log.warn({ reason: problem }, 'Neutron is not available');
  }
}
