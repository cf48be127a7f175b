import type { Subnet } from '../../api/subnet.ts';
import type { Network } from '../../api/types.ts';
import type { NotReady, Realised, Removal } from '../provider.ts';
import type { Action, Found } from './neutron-api.ts';
import { poolCapacity } from './neutron-pools.ts';
import { namePorts, usersOf } from './neutron-ports.ts';
import type { NeutronPort } from './neutron-resources.ts';

/** Why a network in Neutron is not Ready. */
export const NEUTRON_REASONS = ['InUse'] as const;

export type NeutronReason = (typeof NEUTRON_REASONS)[number];

/** How long until Neutron is asked again: whether it answers, and whether the ports are gone. */
const RETRY_MS = 10_000;

/** The network is as asked, after these calls. */
export function realised(
  network: Network,
  { network: real, subnets }: Found,
  { cidr: range }: Subnet,
  done: readonly Action[],
): Realised<NeutronReason> {
  const change = done.length === 0 ? 'none' : changeOf(network, done);
  const pools = subnets.filter((subnet) => subnet.cidr === range).flatMap((subnet) => subnet.pools);
  return { kind: 'ready', change, capacity: poolCapacity(pools), externalID: real.id };
}

/** What the calls were for: what the spec asks for, or what somebody else had changed or deleted. */
function changeOf({ spec, status }: Network, done: readonly Action[]): Realised<NeutronReason>['change'] {
  if (status?.cidr === undefined) return 'created';
  if (done.some(({ kind }) => kind === 'createNetwork')) return 'restored';
  const isEdited = status.cidr !== spec.cidr || status.gateway !== spec.gateway || status.mtu !== spec.mtu;
  return isEdited ? 'updated' : 'restored';
}

export function unavailable({ message }: Error): NotReady<NeutronReason> {
  return {
    kind: 'notReady',
    reason: 'ProviderUnavailable',
    message,
    retryAfterMs: RETRY_MS,
    keepsKnown: true,
  };
}

export function waitsForPorts(message: string): NotReady<NeutronReason> {
  return { kind: 'notReady', reason: 'InUse', message, retryAfterMs: RETRY_MS, keepsKnown: true };
}

export function terminatingWithout({ message }: Error): Removal {
  return { kind: 'blocked', message: `its network cannot be removed: ${message}`, retryAfterMs: RETRY_MS };
}

/** `refusal` is Neutron's, which names ports that are not ours to see. */
export function heldByPorts(ports: readonly NeutronPort[], refusal: Error): Removal {
  const users = usersOf(ports);
  const message =
    users.length > 0 ? `waits for the ports on its network in Neutron: ${namePorts(users)}` : refusal.message;
  return { kind: 'blocked', message, retryAfterMs: RETRY_MS };
}
