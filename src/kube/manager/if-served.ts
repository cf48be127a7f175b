import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import { waitForSync } from '../cache/informer.ts';
import type { WatchSelection } from '../cache/shared-informers.ts';
import type { Manager } from './manager.ts';

/** The cache of a resource that the API server may not have. */
export type OptionalInformer<T extends KubeObject> = ReturnType<typeof informerIfServed<T>>;

/** Watches a resource from when the API server serves it. */
export function informerIfServed<T extends KubeObject>(
  manager: Pick<Manager, 'informer' | 'served'>,
  resource: Resource<T>,
  selection?: WatchSelection<T>,
) {
  const served = manager.served(resource);
  const informer = manager.informer(resource, { ...selection, startWhen: served.until });
  return {
    informer,
    /** Resolves when all objects are known, or there is no such resource, or the signal aborts. */
    known: async (signal: AbortSignal) =>
      (await served.known(signal)) === true && waitForSync([informer], signal),
    /** Whether that is so now. */
    isKnown: () => served.isServed === false || informer.hasSynced(),
  };
}
