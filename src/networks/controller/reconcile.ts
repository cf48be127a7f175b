import type { ObjectKey } from '../../kube/api/object.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { Reconcile, Result } from '../../kube/controller/controller.ts';
import type { Network } from '../api/types.ts';
import type { DeletionReconciler } from './deletion-reconciler.ts';
import { StaleCopyError } from './network-writer.ts';
import type { NormalReconciler } from './normal-reconciler.ts';
import type { ProviderRegistry } from './provider-registry.ts';

export interface ReconcilerOptions {
  readonly copies: MutationCache<Network>;
  readonly providers: ProviderRegistry;
  readonly normalReconciler: NormalReconciler;
  readonly deletionReconciler: DeletionReconciler;
}

/**
 * Returns the reconcile of Networks. It is level-triggered: it does not depend on the event, and does nothing if
 * state and spec match. A new Network takes three writes: its finalizer, its real network, its status.
 */
export function networkReconcile({
  copies,
  providers,
  normalReconciler,
  deletionReconciler,
}: ReconcilerOptions): Reconcile {
  const reconcile = async (key: ObjectKey, signal: AbortSignal): Promise<Result> => {
    const network = copies.get(key);
    if (!network) {
      for (const provider of providers.all()) await provider.release(key, signal);
      return {};
    }
    const reconciler = network.metadata.deletionTimestamp ? deletionReconciler : normalReconciler;
    return reconciler.run(network, providers.of(network), signal);
  };
  return async (key, signal) => {
    try {
      return await reconcile(key, signal);
    } catch (error) {
      if (!(error instanceof StaleCopyError)) throw error;
      // This is not an error: the cache will get the newer object.
      return { requeueAfterMs: 0 };
    }
  };
}
