import type { Resource } from '../../kube/api/resource.ts';
import type { Selection } from '../../kube/cache/shared-informers.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { ENDPOINT_ADDRESSES, type RangeHolder, SERVICE_CIDRS } from './cluster-objects.ts';
import type { ClusterRanges } from './cluster-ranges.ts';

/** Watches the ranges of Services and of the API server. */
export interface RangeSources {
  /** Resolves when all available ranges are known, or the signal aborts. */
  known(signal: AbortSignal): Promise<void>;
}

/** The EndpointSlice of the API servers. */
const API_SERVER = { namespace: 'default', fieldSelector: 'metadata.name=kubernetes' };

export function rangeSources(manager: Manager, ranges: ClusterRanges): RangeSources {
  function follow(
    of: string,
    resource: Resource<RangeHolder>,
    options: Pick<Selection<RangeHolder>, 'namespace' | 'fieldSelector' | 'startWhen'>,
  ) {
    const informer = manager.informer(resource, options);
    const changed = () =>
      ranges.set(
        of,
        informer.lister.list().flatMap(({ cidrs }) => cidrs),
      );
    informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    return informer;
  }

  // Before Kubernetes 1.33, ServiceCIDRs do not exist.
  const served = manager.served(SERVICE_CIDRS);
  const services = follow('the Services', SERVICE_CIDRS, { startWhen: served.until });
  const apiServer = follow('the API server', ENDPOINT_ADDRESSES, API_SERVER);
  return {
    async known(signal) {
      const available = (await served.known(signal)) ? [services, apiServer] : [apiServer];
      await waitForSync(available, signal);
    },
  };
}
