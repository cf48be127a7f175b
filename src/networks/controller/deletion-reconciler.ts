import type { Result } from '../../kube/controller/controller.ts';
import { toError } from '../../kube/util/to-error.ts';
import { conditionOf } from '../api/conditions.ts';
import { hasFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { RangeAllocator } from '../ipam/range-allocator.ts';
import type { Provider, Removal, Usage } from '../providers/provider.ts';
import { deletionUpdates, namePods } from './condition-plan.ts';
import type { NetworkWriter } from './network-writer.ts';
import { soonest } from './requeue.ts';
import { statusWith } from './status.ts';
import type { StatusWriter } from './status-writer.ts';

export interface DeletionReconcilerOptions {
  readonly allocator: RangeAllocator;
  readonly writer: Pick<NetworkWriter, 'removeFinalizer'>;
  readonly statusWriter: StatusWriter;
}

/** The garbage collector's finalizer for `kubectl delete --cascade=orphan`: owned objects stay. */
const ORPHAN_FINALIZER = 'orphan';

/** Deletes the real network of a deleted Network, and then removes the finalizer of the Network. */
export class DeletionReconciler {
  readonly #options: DeletionReconcilerOptions;

  constructor(options: DeletionReconcilerOptions) {
    this.#options = options;
  }

  /** @throws what the provider threw, once the status says so. */
  async run(network: Network, provider: Provider, signal: AbortSignal): Promise<Result> {
    if (!hasFinalizer(network, NETWORK_FINALIZER)) return {};
    let usage: Usage | undefined;
    let removal: Removal;
    try {
      usage = await provider.usage(network, signal);
      removal = await this.#remove(network, provider, usage, signal);
    } catch (thrown) {
      const error = toError(thrown);
      if (!signal.aborted) await this.#reportWaiting(network, error.message, usage, signal);
      throw error;
    }
    if (removal.kind === 'gone') {
      await this.#release(network, provider, signal);
      return {};
    }
    const countAgainMs = await this.#reportWaiting(network, removal.message, usage, signal);
    return soonest(countAgainMs, removal.retryAfterMs);
  }

  async #remove(
    network: Network,
    provider: Provider,
    usage: Usage | undefined,
    signal: AbortSignal,
  ): Promise<Removal> {
    if (usage && usage.pods.length > 0) {
      return { kind: 'blocked', message: `waits for the pods that use it: ${namePods(usage.pods)}` };
    }
    return provider.remove(network, { retain: isRetained(network) }, signal);
  }

  async #release(network: Network, provider: Provider, signal: AbortSignal): Promise<void> {
    const { allocator, writer, statusWriter } = this.#options;
    await writer.removeFinalizer(network, signal);
    allocator.forget(network);
    const what = isRetained(network)
      ? 'kept the real network of this Network'
      : 'deleted the real network of this Network';
    statusWriter.tell(network, {
      type: 'Normal',
      reason: 'Deleted',
      action: 'Delete',
      note: `${what} (${network.status?.cidr ?? network.spec.cidr}, provider ${provider.name})`,
    });
  }

  async #reportWaiting(
    network: Network,
    message: string,
    usage: Usage | undefined,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { statusWriter } = this.#options;
    const status = statusWith(network, deletionUpdates(message, usage), usage, statusWriter.now());
    const was = conditionOf(network.status?.conditions, 'Progressing');
    const isReported = was?.reason === 'Deleting' && was.message === message;
    const details = { type: 'Normal', reason: 'Deleting', action: 'Delete', note: message } as const;
    return statusWriter.report(network, status, isReported ? [] : [details], signal);
  }
}

function isRetained({ spec, metadata }: Network): boolean {
  return spec.deletionPolicy === 'Retain' || (metadata.finalizers?.includes(ORPHAN_FINALIZER) ?? false);
}
