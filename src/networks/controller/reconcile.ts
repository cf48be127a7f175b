import { isDeepStrictEqual } from 'node:util';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { Reconcile, Result } from '../../kube/controller/controller.ts';
import { toError } from '../../kube/util/errors.ts';
import { conditionOf } from '../api/conditions.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { hasFinalizer } from '../api/resources.ts';
import { rangesOf, recordedSubnet, subnetOf } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import type { Provider, Removal, Usage } from '../providers.ts';
import { deletionUpdates, namePods, type ObservedState, type Outcome, targetOf } from './condition-plan.ts';
import { type NetworkWriter, StaleCopyError } from './network-writer.ts';
import type { ProviderRegistry } from './provider-registry.ts';
import type { SpecAcceptance } from './spec-acceptance.ts';
import { eventsOf, statusOf, statusWith } from './status.ts';

export interface ReconcileOptions {
  readonly copies: MutationCache<Network>;
  readonly providers: Pick<ProviderRegistry, 'all' | 'of'>;
  readonly acceptance: SpecAcceptance;
  readonly writer: NetworkWriter;
  /** The Networks whose range changes, from before their pods are counted until `copies` shows it. */
  readonly changing: Set<ObjectKey>;
}

/**
 * Returns the reconcile of Networks. It is level-triggered: it does not depend on the event, and does nothing if
 * state and spec match. A new Network takes three writes: its finalizer, its real network, its status. It throws what
 * the provider threw, once the status says so.
 */
export function networkReconcile(options: ReconcileOptions): Reconcile {
  const { copies, providers, writer } = options;
  return async (key, signal) => {
    try {
      const network = copies.get(key);
      if (!network) {
        writer.forget(key);
        options.changing.delete(key);
        for (const provider of providers.all()) await provider.release?.(key, signal);
        return {};
      }
      const isDeleted = network.metadata.deletionTimestamp !== undefined;
      // Its range changes no more.
      if (isDeleted) options.changing.delete(key);
      const run = isDeleted ? deleteNetwork : applySpec;
      return await run(network, providers.of(network), options, signal);
    } catch (error) {
      if (!(error instanceof StaleCopyError)) throw error;
      // This is not an error: the cache will get the newer object.
      return { requeueAfterMs: 0 };
    }
  };
}

interface Attempt {
  readonly network: Network;
  readonly observed: ObservedState;
  readonly outcome: Outcome | undefined;
  readonly error?: Error;
}

async function applySpec(
  first: Network,
  provider: Provider,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<Result> {
  const { writer } = options;
  const { network, observed, outcome, error } = await attempt(first, provider, options, signal);
  const status = statusOf(network, provider.name, observed, outcome, writer.now());
  let countAgainMs: number | undefined;
  try {
    countAgainMs = await writer.report(network, status, eventsOf(network, status, outcome), signal);
  } catch (thrown) {
    if (!error || thrown instanceof StaleCopyError) throw thrown;
    throw new AggregateError([error, thrown], `${error.message}; writing the status also failed`);
  }
  if (error) throw error;
  options.changing.delete(keyOf(network));
  return soonest(countAgainMs, outcome?.kind === 'notReady' ? outcome.retryAfterMs : undefined);
}

async function attempt(
  first: Network,
  provider: Provider,
  { acceptance, writer, changing }: ReconcileOptions,
  signal: AbortSignal,
): Promise<Attempt> {
  let network = first;
  let observed: ObservedState = {
    desired: subnetOf(network.spec),
    current: recordedSubnet(network),
    specError: acceptance.specErrorOf(network),
    usage: undefined,
    attachesPods: provider.attachesPods,
    warning: acceptance.warningFor(network),
  };
  const ranges = (subnet = observed.desired) => rangesOf(subnet);
  const recorded = ranges(observed.current);
  try {
    // A pod that is not counted must not get an address of the range that the Network leaves.
    if (!isDeepStrictEqual(ranges(targetOf(observed)), recorded)) changing.add(keyOf(first));
    observed = await observe(network, observed, provider, signal);
    const target = targetOf(observed);
    if (isDeepStrictEqual(ranges(target), recorded)) changing.delete(keyOf(first));
    acceptance.settle(network, observed.current, target);
    if (!target) return { network, observed, outcome: undefined };
    // First, so that a deletion waits for everything that the provider creates.
    if (!hasFinalizer(network, NETWORK_FINALIZER)) network = await writer.addFinalizer(network, signal);
    const outcome = await provider.ensure(network, target, signal);
    if (outcome.kind === 'ready') acceptance.settle(network, target);
    return { network, observed, outcome };
  } catch (thrown) {
    const error = toError(thrown);
    if (signal.aborted || error instanceof StaleCopyError) throw error;
    return { network, observed, outcome: { kind: 'failed', message: error.message }, error };
  }
}

async function observe(
  network: Network,
  known: ObservedState,
  provider: Provider,
  signal: AbortSignal,
): Promise<ObservedState> {
  const usage = await provider.usage?.(network, signal);
  const current = (await provider.actual?.(network, signal)) ?? known.current;
  if (known.desired.mtu !== undefined) return { ...known, usage, current };
  const isUsed = usage !== undefined && usage.pods.length > 0;
  // The default may change, but not under running pods.
  const mtu = (isUsed ? current?.mtu : undefined) ?? provider.defaultMtu?.();
  if (mtu === undefined) return { ...known, usage, current };
  const desired = { ...known.desired, mtu };
  return { ...known, usage, desired, defaultMtu: mtu, current };
}

/** The garbage collector's finalizer for `kubectl delete --cascade=orphan`: owned objects stay. */
const ORPHAN_FINALIZER = 'orphan';

async function deleteNetwork(
  network: Network,
  provider: Provider,
  { acceptance, writer }: ReconcileOptions,
  signal: AbortSignal,
): Promise<Result> {
  if (!hasFinalizer(network, NETWORK_FINALIZER)) return {};
  const retain = network.spec.deletionPolicy === 'Retain' || hasFinalizer(network, ORPHAN_FINALIZER);
  let usage: Usage | undefined;
  const reportWaiting = (message: string) => {
    const status = statusWith(network, deletionUpdates(message, usage), usage, writer.now());
    const was = conditionOf(network.status?.conditions, 'Progressing');
    const isReported = was?.reason === 'Deleting' && was.message === message;
    const details = { type: 'Normal', reason: 'Deleting', action: 'Delete', note: message } as const;
    return writer.report(network, status, isReported ? [] : [details], signal);
  };
  let removal: Removal;
  try {
    usage = await provider.usage?.(network, signal);
    removal =
      usage && usage.pods.length > 0
        ? { kind: 'blocked', message: `waiting for pods that use it: ${namePods(usage.pods)}` }
        : await provider.remove(network, { retain }, signal);
  } catch (thrown) {
    const error = toError(thrown);
    if (!signal.aborted) await reportWaiting(error.message);
    throw error;
  }
  if (removal.kind === 'blocked') {
    return soonest(await reportWaiting(removal.message), removal.retryAfterMs);
  }
  await writer.removeFinalizer(network, signal);
  acceptance.forget(network);
  writer.tell(network, {
    type: 'Normal',
    reason: 'Deleted',
    action: 'Delete',
    note: `${retain ? 'kept' : 'deleted'} the network itself (${network.status?.cidr ?? network.spec.cidr}, provider ${provider.name})`,
  });
  return {};
}

/** Requeues after the shortest of these times, in milliseconds. */
function soonest(...times: readonly (number | undefined)[]): Result {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? {} : { requeueAfterMs: Math.min(...known) };
}
