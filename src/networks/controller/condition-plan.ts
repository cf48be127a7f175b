import { listed } from '../../util/clip.ts';
import type { ConditionUpdate, ConditionUpdates } from '../api/conditions.ts';
import { describeSubnet, type GatewayRange, type Subnet, sameSubnet } from '../api/subnet.ts';
import type { Ensured, SpecError, Usage } from '../providers.ts';
import { bitsOf, gatewayProblem, parseRange } from '../ranges/cidr.ts';

/** Everything that a decision about a Network needs. */
export interface ObservedState {
  readonly desired: Subnet;
  /** The MTU in `desired`, if the spec does not set it. */
  readonly defaultMtu?: number;
  /** The current subnet: from the provider or, if a user removed it there, from the status. */
  readonly current: Subnet | undefined;
  readonly specError: SpecError | undefined;
  /** Undefined if the provider does not count users. */
  readonly usage: Usage | undefined;
  /** Why another range would be better for an accepted Network: a sentence without a full stop. */
  readonly warning?: string | undefined;
  readonly attachesPods: boolean;
}

export type Outcome = Ensured | { readonly kind: 'failed'; readonly message: string };

/** The most pods that a message names. It counts the others. */
const NAMED_PODS = 3;

/**
 * Returns what is wrong with the spec alone. The CRD's rules refuse the same in the API server. An object that is
 * older than the rules must do no harm either.
 */
export function specProblem({ secondary, ...first }: Subnet): SpecError | undefined {
  const message =
    rangeProblem(first, 'spec') ??
    (secondary && rangeProblem(secondary, 'spec.secondary')) ??
    (secondary && first.cidr.includes(':') === secondary.cidr.includes(':')
      ? `spec.secondary.cidr ${secondary.cidr} has the same IP family as spec.cidr: use a range of the other family`
      : undefined);
  return message === undefined ? undefined : { reason: 'Invalid', message };
}

function rangeProblem({ cidr, gateway }: GatewayRange, path: string): string | undefined {
  const range = parseRange(cidr);
  if (!range) {
    return `${path}.cidr ${cidr} is not a range in canonical form: use one such as 192.168.0.0/16 or fd00:1::/64`;
  }
  // Pods get neither the gateway nor the network address (IPv6: the subnet routers' anycast address, RFC 4291 section
  // 2.6.1) nor the broadcast address (IPv4).
  if (bitsOf(range.address) - range.prefixLength < 2) {
    return `${path}.cidr ${cidr} leaves no address for a pod: use a /30 or larger (IPv4), or a /126 or larger (IPv6)`;
  }
  const problem = gatewayProblem(gateway, range);
  if (problem === undefined) return undefined;
  return `${path}.gateway ${gateway} ${problem}: use a host address in ${cidr}, usually the first`;
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
  return listed(pods.toSorted(), NAMED_PODS);
}

function is(status: ConditionUpdate['status'], reason: string, message: string): ConditionUpdate {
  return { status, reason, message };
}

function accepted({ specError, warning }: ObservedState): ConditionUpdate {
  if (specError) return is('False', specError.reason, specError.message);
  const message = 'the spec is valid, and no other Network overlaps its range';
  if (warning === undefined) return is('True', 'Accepted', message);
  return is('True', 'ClusterRange', `${message}, but ${warning}`);
}

function ready(observed: ObservedState, outcome: Outcome | undefined): ConditionUpdate {
  const { desired, specError, attachesPods } = observed;
  const target = targetOf(observed);
  if (!target || !outcome) {
    return is('False', specError?.reason ?? 'Pending', specError?.message ?? 'not reconciled yet');
  }
  if (outcome.kind === 'failed') return is('False', 'ReconcileFailed', outcome.message);
  if (outcome.kind === 'notReady') return is('False', outcome.reason, outcome.message);
  const subnet = describeSubnet(shown(target, observed));
  // A network to which no pod can attach is also Ready, for other users of its provider.
  const message = attachesPods
    ? `pods can attach to ${subnet}`
    : `exists: ${subnet}; pods cannot attach to this provider's networks`;
  if (sameSubnet(target, desired)) {
    return is('True', attachesPods ? 'Ready' : 'ProviderCannotAttach', message);
  }
  return specError
    ? is('True', 'ChangeRefused', `${message}; the changed spec is refused`)
    : is('True', 'ChangePending', `${message}; the changed spec is not applied yet`);
}

/** Without an MTU that the user has not chosen. */
function shown({ mtu, ...rest }: Subnet, { defaultMtu }: ObservedState): Subnet {
  return mtu === undefined || mtu === defaultMtu ? rest : { ...rest, mtu };
}

function progressing(observed: ObservedState, outcome: Outcome | undefined): ConditionUpdate {
  if (outcome?.kind === 'failed') {
    return is('True', 'Retrying', 'the last attempt failed; the operator is retrying');
  }
  if (outcome?.kind === 'notReady') {
    return outcome.retryAfterMs === undefined
      ? is('False', outcome.reason, 'needs a fix: see the condition Ready')
      : is('True', 'Retrying', 'the operator keeps retrying');
  }
  const { desired, specError, usage } = observed;
  if (specError) return is('False', specError.reason, 'needs a valid spec');
  const target = targetOf(observed);
  if (!target || sameSubnet(target, desired)) {
    return is('False', 'UpToDate', 'the network matches the spec');
  }
  const message = `will change to ${describeSubnet(shown(desired, observed))} when these pods are gone: ${namePods(usage?.pods ?? [])}`;
  return is('True', 'InUse', message);
}

function inUse(usage: Usage | undefined): ConditionUpdate {
  if (!usage) return is('Unknown', 'NotCounted', 'pods on this network are not counted');
  const { pods, refusal, allocated = 0, total = Number.POSITIVE_INFINITY } = usage;
  const status = pods.length === 0 ? 'False' : 'True';
  const message = pods.length === 0 ? 'no pod is attached' : `attached: ${namePods(pods)}`;
  if (refusal !== undefined) return is(status, 'PortsRefused', `new pods wait: ${refusal}; ${message}`);
  if (pods.length === 0) return is(status, 'NoPods', message);
  if (allocated < total) return is(status, 'PodsAttached', message);
  const full = `${allocated} of ${total} addresses are taken, so new pods wait; ${message}`;
  return is(status, 'AddressesExhausted', full);
}
