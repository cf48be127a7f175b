import ipaddr from 'ipaddr.js';
import type { Usage } from '../../networks/providers.ts';
import { addressAt, bitsOf, formatAddress, numberOf, spanOf } from '../../networks/ranges/cidr.ts';
import { listed } from '../../util/clip.ts';
import type { AddressPool, Found, NeutronPort, NeutronSubnet } from './resources.ts';

/**
 * Owners of ports that Neutron creates and deletes automatically (neutron/common/_constants.py
 * AUTO_DELETE_PORT_OWNERS).
 */
const AUTOMATIC_OWNERS: ReadonlySet<string> = new Set([
  'network:dhcp',
  'network:distributed',
  'network:floatingip_agent_gateway',
]);

/** Ports of users, without those that Neutron deletes automatically. */
export function usersOf(ports: readonly NeutronPort[]): readonly NeutronPort[] {
  return ports.filter(({ owner }) => !AUTOMATIC_OWNERS.has(owner));
}

const NAMED_PORTS = 3;

/** `7d20… (vm-1, compute:nova), 8e31… and 4 more`. */
export function namePorts(ports: readonly NeutronPort[]): string {
  const names = ports.map(({ id, name, owner }) => {
    const known = [name, owner].filter((text) => text !== '').join(', ');
    return known === '' ? id : `${id} (${known})`;
  });
  return listed(names, NAMED_PORTS);
}

/** Whether a port has the address. The interface of a router may have the gateway address. */
export function holds({ owner, addresses }: NeutronPort, { id }: NeutronSubnet, address: string): boolean {
  if (owner.startsWith('network:router') || owner.startsWith('network:ha_router')) return false;
  return addresses.some((held) => held.subnetId === id && held.address === address);
}

/**
 * The addresses that Neutron may allocate: the range without its network address, broadcast address (IPv4) and
 * gateway. Neutron creates the same pools for a new subnet (neutron/ipam/utils.py generate_pools).
 */
export function poolsAround(cidr: string, gateway: string): readonly AddressPool[] {
  const [address, prefixLength] = ipaddr.parseCIDR(cidr);
  const [network, end] = spanOf({ address, prefixLength });
  const between = numberOf(ipaddr.parse(gateway));
  const pools = [
    { first: network + 1n, last: between - 1n },
    { first: between + 1n, last: address.kind() === 'ipv4' ? end - 1n : end },
  ];
  const textOf = (number: bigint) => formatAddress(addressAt(number, bitsOf(address)));
  return pools
    .filter(({ first, last }) => first <= last)
    .map(({ first, last }) => ({ start: textOf(first), end: textOf(last) }));
}

/** The number of addresses in the pools, at most 2^53 - 1, the largest integer that is exact in JSON. */
export function poolCapacity(pools: readonly AddressPool[]): number {
  const total = pools
    .filter(({ start, end }) => ipaddr.isValid(start) && ipaddr.isValid(end))
    .reduce(
      (sum, { start, end }) => sum + numberOf(ipaddr.parse(end)) - numberOf(ipaddr.parse(start)) + 1n,
      0n,
    );
  return total > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Math.max(Number(total), 0);
}

/** The addresses in use and in the pools, of the family with fewer free ones: a pod has one of each. */
export function addressUse(found: readonly Found[]): Required<Pick<Usage, 'allocated' | 'total'>> {
  const subnets = found.flatMap((each) => each.subnets);
  const addresses = found.flatMap(({ ports }) => ports.flatMap((port) => port.addresses));
  const uses = [true, false].map((isSix) => ({
    allocated: addresses.filter(({ address }) => address.includes(':') === isSix).length,
    total: poolCapacity(
      subnets.filter(({ cidr }) => cidr.includes(':') === isSix).flatMap(({ pools }) => pools),
    ),
  }));
  const [scarcer] = uses
    .filter(({ total }) => total > 0)
    .sort((a, b) => a.total - a.allocated - (b.total - b.allocated));
  return scarcer ?? { allocated: addresses.length, total: 0 };
}
