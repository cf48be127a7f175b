import type { Subnet } from '../../api/subnet.ts';
import type { Network } from '../../api/types.ts';
import { MULTUS_REASONS } from '../multus/reasons.ts';
import type { NotReady, Realised, Removal } from '../provider.ts';
import type { Action, Found } from './neutron-api.ts';
import { poolCapacity } from './neutron-pools.ts';
import { namePorts, usersOf } from './neutron-ports.ts';
import type { NeutronPort } from './neutron-resources.ts';

/** Condition reasons of Neutron Networks that are not Ready. */
export const NEUTRON_REASONS = ['InUse', ...MULTUS_REASONS] as const;

export type NeutronReason = (typeof NEUTRON_REASONS)[number];

/** The retry interval if Neutron does not answer, or ports block a change. */
const RETRY_MS = 10_000;

/** The result for a network that matches the spec after these calls. */
export function realised(
  network: Network,
  { network: real, subnets }: Found,
  { cidr: range }: Subnet,
  done: readonly Action[],
): Realised {
  const change = done.length === 0 ? 'none' : changeOf(network, done);
  const pools = subnets.filter((subnet) => subnet.cidr === range).flatMap((subnet) => subnet.pools);
  return { kind: 'ready', change, capacity: poolCapacity(pools), externalID: real.id };
}

/** Whether the calls applied the spec, or undid a change of another client. */
function changeOf({ spec, status }: Network, done: readonly Action[]): Realised['change'] {
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
  return {
    kind: 'blocked',
    message: `cannot delete the real network of this Network: ${message}`,
    retryAfterMs: RETRY_MS,
  };
}

/** `refusal` is Neutron's error. It may name ports that the operator cannot see. */
export function heldByPorts(ports: readonly NeutronPort[], refusal: Error): Removal {
  const users = usersOf(ports);
  const message =
    users.length > 0 ? `waits for the ports on its network in Neutron: ${namePorts(users)}` : refusal.message;
  return { kind: 'blocked', message, retryAfterMs: RETRY_MS };
}
