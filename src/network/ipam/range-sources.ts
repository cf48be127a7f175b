import { isNotFound } from '../../kube/api/api-error.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { informerLog } from '../../kube/cache/informer-log.ts';
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
  function follow(of: string, resource: Resource<RangeHolder>, selection: Partial<typeof API_SERVER> = {}) {
    const absent = new AbortController();
    const logged = informerLog(manager.log, resource.plural);
    const informer = manager.informer(resource, {
      ...selection,
      onError(error, doing) {
        // Before Kubernetes 1.33, ServiceCIDRs do not exist.
        if (isNotFound(error)) absent.abort();
        else logged(error, doing);
      },
    });
    const changed = () =>
      ranges.set(
        of,
        informer.lister.list().flatMap(({ cidrs }) => cidrs),
      );
    informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    return { informer, absent: absent.signal };
  }

  const sources = [
    follow('the Services', SERVICE_CIDRS),
    follow('the API server', ENDPOINT_ADDRESSES, API_SERVER),
  ];
  return {
    async known(signal) {
      const waits = sources.map(({ informer, absent }) =>
        waitForSync([informer], AbortSignal.any([signal, absent])),
      );
      await Promise.all(waits);
    },
  };
}
