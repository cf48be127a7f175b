import type { ConditionUpdate, ConditionUpdates } from '../api/conditions.ts';
import { describeSubnet, type GatewayRange, type Subnet, sameSubnet } from '../api/subnet.ts';
import { gatewayProblem, parseRange, podCapacity } from '../ipam/cidr.ts';
import type { Ensured, SpecError, Usage } from '../providers.ts';

/** Everything that a decision about a Network needs. */
export interface ObservedState {
  readonly desired: Subnet;
  /** The MTU in `desired`, if the spec does not set it. */
  readonly defaultMtu?: number;
  /** The current subnet: from the provider or, if a user removed it there, from the status. */
  readonly current: Subnet | undefined;
  /** Why the operator does not accept the desired subnet. */
  readonly specError: SpecError | undefined;
  /** Undefined if the provider does not count users. */
  readonly usage: Usage | undefined;
  /** Why another range would be better for an accepted Network: a sentence without a full stop. */
  readonly warning?: string | undefined;
  /** Whether the provider can attach pods. */
  readonly attachesPods: boolean;
}

/** The result of applying the target. */
export type Outcome = Ensured | { readonly kind: 'failed'; readonly message: string };

/** The most pods that a message names. It counts the others. */
const NAMED_PODS = 3;

/**
 * Returns what is wrong with the spec alone. The CRD's rules refuse the same in the API server. An object that is
 * older than the rules must do no harm either.
 */
export function specProblem({ secondary, ...first }: Subnet): SpecError | undefined {
  const problem = rangeProblem(first, 'spec') ?? (secondary && rangeProblem(secondary, 'spec.secondary'));
  if (problem || !secondary || first.cidr.includes(':') !== secondary.cidr.includes(':')) return problem;
  const message = `spec.secondary.cidr ${secondary.cidr} is of the same family as spec.cidr: write a range of the other family`;
  return { reason: 'Invalid', message };
}

function rangeProblem({ cidr, gateway }: GatewayRange, path: string): SpecError | undefined {
  const range = parseRange(cidr);
  if (!range) {
    const message = `${path}.cidr ${cidr} is not a range in canonical form: write one such as 192.168.0.0/16 or fd00:1::/64`;
    return { reason: 'Invalid', message };
  }
  if (podCapacity(range) < 1) {
    const message = `${path}.cidr ${cidr} leaves no address for a pod: use a /30 or larger (IPv4), or a /126 or larger (IPv6)`;
    return { reason: 'Invalid', message };
  }
  const problem = gatewayProblem(gateway, range);
  if (problem === undefined) return undefined;
  const message = `${path}.gateway ${gateway} ${problem}: write another address of ${cidr}, usually the first host`;
  return { reason: 'Invalid', message };
}

/**
 * The subnet to apply now; undefined for none. The current subnet stays while the new spec is refused or pods use it,
 * so an edit never removes a working network.
 */
export function targetOf({ desired, current, specError, usage }: ObservedState): Subnet | undefined {
  if (specError) return current;
  if (current && !sameSubnet(current, desired) && usage && usage.pods.length > 0) return current;
  return desired;
}

/** The conditions for an observed state and the outcome for its target (undefined without a target). */
export function updatesOf(observed: ObservedState, outcome: Outcome | undefined): ConditionUpdates {
  const { nodes } = observed.usage ?? {};
  return {
    Accepted: accepted(observed),
    Ready: ready(observed, outcome),
    ...(nodes && outcome && { NodesReady: nodes.condition }),
    Progressing: progressing(observed, outcome),
    InUse: inUse(observed.usage),
  };
}

/** The conditions of a Network whose deletion waits; `message` says why. */
export function deletionUpdates(
  message: string,
  usage: Usage | undefined,
): Omit<ConditionUpdates, 'Accepted'> {
  return {
    Ready: { status: 'False', reason: 'Deleting', message: 'the Network is being deleted' },
    ...(usage?.nodes && { NodesReady: usage.nodes.condition }),
    Progressing: { status: 'True', reason: 'Deleting', message },
    InUse: inUse(usage),
  };
}

/** `default/a, default/b, default/c and 4 more`. */
export function namePods(pods: readonly string[]): string {
  const named = [...pods].sort().slice(0, NAMED_PODS).join(', ');
  return pods.length > NAMED_PODS ? `${named} and ${pods.length - NAMED_PODS} more` : named;
}

function accepted({ specError, warning }: ObservedState): ConditionUpdate {
  if (specError) return { status: 'False', ...specError };
  const message = 'the spec is valid, and no other Network overlaps its range';
  if (warning === undefined) return { status: 'True', reason: 'Accepted', message };
  return { status: 'True', reason: 'ClusterRange', message: `${message}, but ${warning}` };
}

function ready(observed: ObservedState, outcome: Outcome | undefined): ConditionUpdate {
  const { desired, specError, attachesPods } = observed;
  const target = targetOf(observed);
  if (!target || !outcome) {
    return {
      status: 'False',
      reason: specError?.reason ?? 'Pending',
      message: specError?.message ?? 'not reconciled yet',
    };
  }
  if (outcome.kind === 'failed')
    return { status: 'False', reason: 'ReconcileFailed', message: outcome.message };
  if (outcome.kind === 'notReady')
    return { status: 'False', reason: outcome.reason, message: outcome.message };
  const { reason, message } = made(shown(target, observed), attachesPods);
  if (sameSubnet(target, desired)) return { status: 'True', reason, message };
  if (specError) {
    return { status: 'True', reason: 'ChangeRefused', message: `${message}; the changed spec is refused` };
  }
  return {
    status: 'True',
    reason: 'ChangePending',
    message: `${message}; the changed spec is not applied yet`,
  };
}

/** Without an MTU that the user has not chosen. */
function shown({ mtu, ...rest }: Subnet, { defaultMtu }: ObservedState): Subnet {
  return mtu === undefined || mtu === defaultMtu ? rest : { ...rest, mtu };
}

/** Describes a real network. A network to which no pod can attach is also Ready, for other users of its provider. */
function made(subnet: Subnet, attachesPods: boolean): Omit<ConditionUpdate, 'status'> {
  if (attachesPods) return { reason: 'Ready', message: `pods can attach to ${describeSubnet(subnet)}` };
  const message = `${describeSubnet(subnet)} exists; pods cannot attach to networks of this provider`;
  return { reason: 'ProviderCannotAttach', message };
}

function progressing(observed: ObservedState, outcome: Outcome | undefined): ConditionUpdate {
  if (outcome?.kind === 'failed') {
    return {
      status: 'True',
      reason: 'Retrying',
      message: 'the last attempt failed, and the operator retries',
    };
  }
  if (outcome?.kind === 'notReady') {
    return outcome.retryAfterMs === undefined
      ? {
          status: 'False',
          reason: outcome.reason,
          message: 'waits until the problem that Ready names is solved',
        }
      : { status: 'True', reason: 'Retrying', message: 'the operator retries regularly' };
  }
  const { desired, specError, usage } = observed;
  if (specError) return { status: 'False', reason: specError.reason, message: 'waits for a valid spec' };
  const target = targetOf(observed);
  if (target && !sameSubnet(target, desired)) {
    const message = `will change to ${describeSubnet(shown(desired, observed))} when these pods are gone: ${namePods(usage?.pods ?? [])}`;
    return { status: 'True', reason: 'InUse', message };
  }
  return { status: 'False', reason: 'UpToDate', message: 'the network matches the spec' };
}

function inUse(usage: Usage | undefined): ConditionUpdate {
  if (!usage)
    return { status: 'Unknown', reason: 'NotCounted', message: 'pods on this network are not counted' };
  const { refusal } = usage;
  const status = usage.pods.length === 0 ? 'False' : 'True';
  const message = usage.pods.length === 0 ? 'no pod is attached' : `attached: ${namePods(usage.pods)}`;
  if (refusal !== undefined) {
    return { status, reason: 'PortsRefused', message: `new pods wait: ${refusal}; ${message}` };
  }
  if (usage.pods.length === 0) return { status, reason: 'NoPods', message };
  const { allocated = 0, total = Number.POSITIVE_INFINITY } = usage;
  if (allocated < total) return { status: 'True', reason: 'PodsAttached', message };
  const full = `${allocated} of ${total} addresses are taken, so new pods wait; ${message}`;
  return { status: 'True', reason: 'AddressesExhausted', message: full };
}
