import type { Result } from '../../kube/controller/controller.ts';
import { toError } from '../../kube/util/to-error.ts';
import { hasFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { recordedSubnet, subnetOf } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { RangeAllocator } from '../ipam/range-allocator.ts';
import type { AnyProvider } from '../providers/index.ts';
import type { SpecError } from '../providers/provider.ts';
import { type ObservedState, type Outcome, targetOf } from './condition-plan.ts';
import { eventsOf } from './events.ts';
import { type NetworkWriter, StaleCopyError } from './network-writer.ts';
import { soonest } from './requeue.ts';
import { statusOf } from './status.ts';
import type { StatusWriter } from './status-writer.ts';

export interface NormalReconcilerOptions {
  readonly allocator: RangeAllocator;
  readonly writer: Pick<NetworkWriter, 'addFinalizer'>;
  readonly statusWriter: StatusWriter;
}

interface Attempt {
  /** The Network after the writes of the attempt. */
  readonly network: Network;
  readonly observed: ObservedState;
  readonly outcome: Outcome | undefined;
  readonly error?: Error;
}

/** Creates or updates the real network of a Network, and records the result in its status. */
export class NormalReconciler {
  readonly #options: NormalReconcilerOptions;

  constructor(options: NormalReconcilerOptions) {
    this.#options = options;
  }

  /** @throws what the provider threw, once the status says so. */
  async run(network: Network, provider: AnyProvider, signal: AbortSignal): Promise<Result> {
    const attempt = await this.#attempt(network, provider, signal);
    const countAgainMs = await this.#report(attempt, provider.name, signal);
    if (attempt.error) throw attempt.error;
    const { outcome } = attempt;
    return soonest(countAgainMs, outcome?.kind === 'notReady' ? outcome.retryAfterMs : undefined);
  }

  async #attempt(first: Network, provider: AnyProvider, signal: AbortSignal): Promise<Attempt> {
    const { allocator, writer } = this.#options;
    let network = first;
    let observed: ObservedState = {
      ...knownState(network, provider, allocator.specErrorOf(network)),
      warning: allocator.warningFor(network),
    };
    try {
      observed = await observe(network, observed, provider, signal);
      const target = targetOf(observed);
      if (!target) return { network, observed, outcome: undefined };
      // First, so that a deletion waits for everything that the provider creates.
      if (!hasFinalizer(network, NETWORK_FINALIZER)) network = await writer.addFinalizer(network, signal);
      const outcome = await provider.ensure(network, target, signal);
      if (outcome.kind === 'ready') allocator.settle(network, target);
      return { network, observed, outcome };
    } catch (thrown) {
      const error = toError(thrown);
      if (signal.aborted || error instanceof StaleCopyError) throw error;
      return { network, observed, outcome: { kind: 'failed', message: error.message }, error };
    }
  }

  async #report(
    { network, observed, outcome, error }: Attempt,
    provider: string,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { statusWriter } = this.#options;
    const status = statusOf(network, provider, observed, outcome, statusWriter.now());
    try {
      return await statusWriter.report(network, status, eventsOf(network, status, outcome), signal);
    } catch (thrown) {
      if (!error || thrown instanceof StaleCopyError) throw thrown;
      throw new AggregateError([error, thrown], `${error.message}; writing the status also failed`);
    }
  }
}

function knownState(
  network: Network,
  { attachesPods }: AnyProvider,
  specError: SpecError | undefined,
): ObservedState {
  const [desired, current] = [subnetOf(network.spec), recordedSubnet(network)];
  return { desired, current, specError, usage: undefined, attachesPods };
}

async function observe(
  network: Network,
  known: ObservedState,
  provider: AnyProvider,
  signal: AbortSignal,
): Promise<ObservedState> {
  const usage = await provider.usage(network, signal);
  const current = (await provider.actual(network, signal)) ?? known.current;
  if (known.desired.mtu !== undefined) return { ...known, usage, current };
  const isUsed = usage !== undefined && usage.pods.length > 0;
  // The default may change, but not under running pods.
  const mtu = (isUsed ? current?.mtu : undefined) ?? provider.defaultMtu?.();
  if (mtu === undefined) return { ...known, usage, current };
  const desired = { ...known.desired, mtu };
  // Earlier releases did not record a default MTU.
  return { ...known, usage, desired, defaultMtu: mtu, current: current && { mtu, ...current } };
}
