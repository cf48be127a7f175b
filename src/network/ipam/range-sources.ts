import type { Logger } from 'pino';
import { isNotFound } from '../../kube/api/api-error.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { Informer } from '../../kube/cache/informer.ts';
import { informerLog } from '../../kube/cache/informer-log.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { ENDPOINT_SLICES, type RangeHolder, SERVICE_CIDRS } from './cluster-objects.ts';
import type { ClusterRanges } from './cluster-ranges.ts';

export interface RangeSourcesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ranges: ClusterRanges;
}

/** Watches the ranges of Services and of the API server. */
export interface RangeSources {
  /** Runs the caches until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Resolves when all available ranges are known, or the signal aborts. */
  known(signal: AbortSignal): Promise<void>;
}

/** The EndpointSlice of the API servers. */
const API_SERVER = { namespace: 'default', fieldSelector: 'metadata.name=kubernetes' };

export function rangeSources({ client, clock, log, ranges }: RangeSourcesOptions): RangeSources {
  function follow(of: string, resource: Resource<RangeHolder>, selection: Partial<typeof API_SERVER> = {}) {
    const absent = new AbortController();
    const logged = informerLog(log, resource.plural);
    const informer = new Informer({
      ...{ client, clock, resource, ...selection },
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
    follow('the API server', ENDPOINT_SLICES, API_SERVER),
  ];
  return {
    async watch(signal) {
      await Promise.all(sources.map(({ informer }) => informer.run(signal)));
    },
    async known(signal) {
      const waits = sources.map(({ informer, absent }) =>
        waitForSync([informer], AbortSignal.any([signal, absent])),
      );
      await Promise.all(waits);
    },
  };
}
