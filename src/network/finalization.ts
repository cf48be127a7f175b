import type { Result } from '../kube/controller.ts';
import { toError } from '../kube/to-error.ts';
import type { Acceptance } from './acceptance.ts';
import { conditionOf } from './conditions.ts';
import { hasFinalizer } from './finalizer.ts';
import { NETWORK_FINALIZER } from './names.ts';
import type { NetworkWriter } from './network-writer.ts';
import { deletionVerdicts, namePods } from './plan.ts';
import type { Provider, Removal, Usage } from './providers/provider.ts';
import type { Reporter } from './reporter.ts';
import { soonest } from './requeue.ts';
import { statusWith } from './status.ts';
import type { Network } from './types.ts';

export interface FinalizationOptions {
  readonly acceptance: Acceptance;
  readonly writer: Pick<NetworkWriter, 'removeFinalizer'>;
  readonly reporter: Reporter;
}

/** The garbage collector's finalizer for `kubectl delete --cascade=orphan`: what the object owns is to stay. */
const ORPHAN_FINALIZER = 'orphan';

/** Removes the real network of a Network that is being deleted, and then lets the Network go. */
export class Finalization {
  readonly #options: FinalizationOptions;

  constructor(options: FinalizationOptions) {
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
    const { acceptance, writer, reporter } = this.#options;
    await writer.removeFinalizer(network, signal);
    acceptance.forget(network);
    const what = isRetained(network) ? 'left its real network behind' : 'removed its real network';
    reporter.tell(network, {
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
    const { reporter } = this.#options;
    const status = statusWith(network, deletionVerdicts(message, usage), usage, reporter.now());
    const was = conditionOf(network.status?.conditions, 'Progressing');
    const isTold = was?.reason === 'Deleting' && was.message === message;
    const notice = { type: 'Normal', reason: 'Deleting', action: 'Delete', note: message } as const;
    return reporter.report(network, status, isTold ? [] : [notice], signal);
  }
}

function isRetained({ spec, metadata }: Network): boolean {
  return spec.deletionPolicy === 'Retain' || (metadata.finalizers?.includes(ORPHAN_FINALIZER) ?? false);
}
