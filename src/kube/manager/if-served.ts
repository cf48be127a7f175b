import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import { type Informer, waitForSync } from '../cache/informer.ts';
import type { WatchSelection } from '../cache/shared-informers.ts';
import type { Manager } from './manager.ts';

/** The cache of a resource that the API server may not have. */
export interface OptionalInformer<T extends KubeObject> {
  readonly informer: Informer<T>;
  /** Resolves when all objects are known, or there is no such resource, or the signal aborts. */
  known(signal: AbortSignal): Promise<unknown>;
  /** Whether that is so now. */
  isKnown(): boolean;
}

export function informerIfServed<T extends KubeObject>(
  manager: Pick<Manager, 'informer' | 'served'>,
  resource: Resource<T>,
  selection?: WatchSelection<T>,
): OptionalInformer<T> {
  const served = manager.served(resource);
  const informer = manager.informer(resource, { ...selection, startWhen: served.until });
  return {
    informer,
    known: async (signal) => (await served.known(signal)) === true && waitForSync([informer], signal),
    isKnown: () => served.isServed === false || informer.hasSynced(),
  };
}
