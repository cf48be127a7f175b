import type { ObjectKey } from '../../kube/api/object.ts';
import type { Allocations, Holder } from './allocations.ts';

/** What a pod wants of a network in Multus' annotation. */
export interface AddressRequest {
  /** The place of the network in the annotation. */
  readonly index: number;
  readonly network: ObjectKey;
  /** The addresses that the pod must have; empty for any. */
  readonly ips: readonly string[];
}

/** Why a pod must wait for an address. */
export interface Refusal {
  readonly reason: 'WaitsForNetwork' | 'InvalidNetworkAnnotation' | 'AddressesExhausted';
  /** A sentence without a full stop. */
  readonly why: string;
}

/**
 * Gives the holder what it wants on a Network. Returns the addresses as CNI plugins expect them. After a refusal the
 * allocations have not changed.
 */
export function give(
  allocations: Allocations,
  holder: Holder,
  { network, ips }: AddressRequest,
): readonly string[] | Refusal {
  if (ips.length === 0) {
    const { taken, total } = allocations.counts;
    const why = `Network ${network} has no free address, ${taken} of ${total} are taken: delete pods on it, or use another Network`;
    return allocations.give(holder) ?? { reason: 'AddressesExhausted', why };
  }
  for (const ip of ips) {
    const problem = allocations.problemOf(ip);
    if (problem !== undefined) {
      const why = `it asks for ${ip} on Network ${network}, which ${problem}: recreate the pod with another address, or none`;
      return { reason: 'InvalidNetworkAnnotation', why };
    }
    const other = allocations.holdersOf(ip).find(({ id }) => id !== holder.id);
    if (other)
      return {
        reason: 'WaitsForNetwork',
        why: `${ip} of Network ${network} is the address of ${other.name}`,
      };
  }
  allocations.add(holder, ips);
  return ips.map((ip) => allocations.withPrefix(ip));
}
