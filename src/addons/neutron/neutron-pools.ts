import ipaddr from 'ipaddr.js';
import type { Range } from '../../networks/ipam/cidr.ts';
import type { AddressPool } from './neutron-resources.ts';

/**
 * The addresses that Neutron may allocate: the range without its network address, broadcast address (IPv4) and
 * gateway. Neutron creates the same pools for a new subnet (neutron/ipam/utils.py generate_pools).
 */
export function poolsAround({ address, prefixLength }: Range, gateway: string): readonly AddressPool[] {
  const bits = address.kind() === 'ipv4' ? 32 : 128;
  const network = toNumber(address.toString());
  const first = network + 1n;
  const last = network + (1n << BigInt(bits - prefixLength)) - (bits === 32 ? 2n : 1n);
  const between = toNumber(gateway);
  return [
    [first, between - 1n],
    [between + 1n, last],
  ]
    .filter(([start = 0n, end = 0n]) => start <= end)
    .map(([start = 0n, end = 0n]) => ({ start: toAddress(start, bits), end: toAddress(end, bits) }));
}

/** The number of addresses in the pools, at most 2^53 - 1, the largest integer that is exact in JSON. */
export function poolCapacity(pools: readonly AddressPool[]): number {
  const total = pools
    .filter(({ start, end }) => ipaddr.isValid(start) && ipaddr.isValid(end))
    .reduce((sum, { start, end }) => sum + toNumber(end) - toNumber(start) + 1n, 0n);
  return total > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Math.max(Number(total), 0);
}

function toNumber(address: string): bigint {
  return ipaddr
    .parse(address)
    .toByteArray()
    .reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

function toAddress(number: bigint, bits: 32 | 128): string {
  const bytes = Array.from({ length: bits / 8 }, (_, i) =>
    Number((number >> BigInt(bits - 8 - 8 * i)) & 255n),
  );
  const address = ipaddr.fromByteArray(bytes);
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}
