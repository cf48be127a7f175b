import { ApiError } from '../../kube/api/api-error.ts';
import type { ObjectKey } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Logger } from '../../kube/util/log.ts';
import { NETWORKS } from '../../networks/api/resources.ts';
import type { Network } from '../../networks/api/types.ts';
import { type Owner, RETAIN_TAG } from './marker.ts';
import type { NeutronProvider } from './neutron.ts';
import { isUnavailable } from './openstack/error.ts';
import type { Found } from './resources.ts';
import type { NeutronStore } from './store.ts';

export interface NeutronMetrics {
  /** Whether Neutron answered the last check of this term; undefined at the end of the term. */
  available(is: boolean | undefined): void;
}

export interface NeutronCheckOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly store: NeutronStore;
  readonly provider: Pick<NeutronProvider, 'removeOf'>;
  readonly clusterId: (signal: AbortSignal) => Promise<string>;
  readonly known: (key: ObjectKey) => Network | undefined;
  readonly metrics: NeutronMetrics;
  readonly log: Logger;
}

/**
 * Returns what checks regularly whether Neutron answers, and removes leftovers of deleted Networks. A leftover exists if
 * a user removed the finalizer, or if a creation without an answer (crash, timeout) succeeded after its Network was deleted.
 */
export function neutronCheck(options: NeutronCheckOptions): (signal: AbortSignal) => Promise<void> {
  const { client, store, provider, clusterId, known, metrics, log } = options;
  const ended = () => metrics.available(undefined);
  let state = '';

  /** Logs each change once; `undefined` means that Neutron answers. */
  function report(problem: string | undefined): void {
    metrics.available(problem === undefined);
    if (state === (problem ?? 'available')) return;
    state = problem ?? 'available';
    if (problem === undefined) log.info('Neutron answers');
    else log.warn({ reason: problem }, 'Neutron is not available');
  }

  /** Whether the Network exists. Only a clear answer of the API server counts as a deletion. */
  async function isWanted({ key, uid }: Owner, signal: AbortSignal): Promise<boolean> {
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

  async function remove(owner: Owner, { network }: Found, signal: AbortSignal): Promise<void> {
    const retain = network.tags.includes(RETAIN_TAG);
    const removal = await provider.removeOf(owner, retain, signal);
    const fields = { key: owner.key, uid: owner.uid, id: network.id };
    if (removal.kind === 'gone') {
      log.warn(fields, retain ? 'released a retained network' : 'removed a leftover network');
    } else {
      log.warn({ ...fields, reason: removal.message }, 'cannot remove a leftover network yet');
    }
  }

  return async (signal) => {
    signal.addEventListener('abort', ended, { once: true });
    try {
      await store.refreshed(signal);
    } catch (error) {
      if (signal.aborted || !isUnavailable(error)) throw error;
      report(error.message);
      return;
    }
    report(undefined);
    const cluster = await clusterId(signal);
    for (const { owner, found } of store.owned()) {
      if (owner.cluster !== cluster || (await isWanted(owner, signal))) continue;
      // Meanwhile, the deletion of its Network may have removed it.
      if (store.known(owner.uid).length > 0) await remove(owner, found, signal);
    }
  };
}
