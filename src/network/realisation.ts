import type { Result } from '../kube/controller.ts';
import { toError } from '../kube/to-error.ts';
import type { Acceptance } from './acceptance.ts';
import { hasFinalizer } from './finalizer.ts';
import { NETWORK_FINALIZER } from './names.ts';
import { type NetworkWriter, StaleCopyError } from './network-writer.ts';
import { type Outcome, type Situation, targetOf } from './plan.ts';
import type { Provider, Refusal } from './providers/provider.ts';
import type { Reporter } from './reporter.ts';
import { soonest } from './requeue.ts';
import { recordedShape, shapeOf } from './shape.ts';
import { statusOf } from './status.ts';
import { noticesOf } from './transitions.ts';
import type { Network } from './types.ts';

export interface RealisationOptions {
  readonly acceptance: Acceptance;
  readonly writer: Pick<NetworkWriter, 'addFinalizer'>;
  readonly reporter: Reporter;
}

interface Attempt {
  /** As it is after the writes of the attempt. */
  readonly network: Network;
  readonly situation: Situation;
  readonly outcome: Outcome | undefined;
  readonly error?: Error;
}

/** Makes a Network real, or as much of it as may be, and says in its status how far that went. */
export class Realisation {
  readonly #options: RealisationOptions;

  constructor(options: RealisationOptions) {
    this.#options = options;
  }

  /** @throws what the provider threw, once the status says so. */
  async run(network: Network, provider: Provider, signal: AbortSignal): Promise<Result> {
    const attempt = await this.#attempt(network, provider, signal);
    const countAgainMs = await this.#report(attempt, provider.name, signal);
    if (attempt.error) throw attempt.error;
    const { outcome } = attempt;
    return soonest(countAgainMs, outcome?.kind === 'notReady' ? outcome.retryAfterMs : undefined);
  }

  async #attempt(first: Network, provider: Provider, signal: AbortSignal): Promise<Attempt> {
    const { acceptance, writer } = this.#options;
    let network = first;
    let situation: Situation = {
      ...knownSituation(network, provider, acceptance.refusalOf(network)),
      warning: acceptance.warningFor(network),
    };
    try {
      situation = await observed(network, situation, provider, signal);
      const target = targetOf(situation);
      if (!target) return { network, situation, outcome: undefined };
      // Before anything is made that a deletion would have to wait for.
      if (!hasFinalizer(network, NETWORK_FINALIZER)) network = await writer.addFinalizer(network, signal);
      const outcome = await provider.ensure(network, target, signal);
      if (outcome.kind === 'ready') acceptance.settle(network, target);
      return { network, situation, outcome };
    } catch (thrown) {
      const error = toError(thrown);
      if (signal.aborted || error instanceof StaleCopyError) throw error;
      return { network, situation, outcome: { kind: 'failed', message: error.message }, error };
    }
  }

  async #report(
    { network, situation, outcome, error }: Attempt,
    provider: string,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { reporter } = this.#options;
    const status = statusOf(network, provider, situation, outcome, reporter.now());
    try {
      return await reporter.report(network, status, noticesOf(network, status, outcome), signal);
    } catch (thrown) {
      if (!error || thrown instanceof StaleCopyError) throw thrown;
      throw new AggregateError([error, thrown], `${error.message}; and its status could not be written`);
    }
  }
}

function knownSituation(
  network: Network,
  { attachesPods }: Provider,
  refusal: Refusal | undefined,
): Situation {
  const [desired, current] = [shapeOf(network.spec), recordedShape(network)];
  return { desired, current, refusal, usage: undefined, attachesPods };
}

async function observed(
  network: Network,
  known: Situation,
  provider: Provider,
  signal: AbortSignal,
): Promise<Situation> {
  const usage = await provider.usage(network, signal);
  const actual = await provider.actual(network, signal);
  return { ...known, usage, current: actual ?? known.current };
}
