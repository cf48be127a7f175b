import ipaddr from 'ipaddr.js';
import { bitsOf, formatAddress, type Range } from '../ipam/cidr.ts';

/** A part of a range: for the pods of one node, or, with number 0, for pods that choose their address. */
export interface Slice {
  readonly first: string;
  readonly last: string;
}

/** A range has at most 2^12 = 4096 slices. */
const MAX_SLICE_BITS = 12;

/**
 * The number of slices of a range, all of the same size. Half of the host bits number the slices, the other half
 * the addresses in a slice. A /16 has 256 slices of 256 addresses, a /24 has 16 of 16. It depends only on the
 * range, so slices never move when nodes change.
 */
export function sliceCount(range: Range): number {
  return 2 ** sliceBits(range);
}

/**
 * The slice with this number; undefined if it does not exist. No slice has the network address or the IPv4
 * broadcast address.
 */
export function sliceOf(range: Range, number: number): Slice | undefined {
  const ends = endsOf(range, number);
  return ends && { first: formatNumber(ends.first, range), last: formatNumber(ends.last, range) };
}

/** How many addresses the slice has for pods, without the gateway. At most 2^53 - 1. */
export function sliceCapacity(range: Range, gateway: string, number: number): number {
  const ends = endsOf(range, number);
  if (!ends) return 0;
  const taken = toNumber(ipaddr.parse(gateway));
  const size = ends.last - ends.first + 1n - (ends.first <= taken && taken <= ends.last ? 1n : 0n);
  return Number(size < BigInt(Number.MAX_SAFE_INTEGER) ? size : BigInt(Number.MAX_SAFE_INTEGER));
}

function endsOf(range: Range, number: number): { readonly first: bigint; readonly last: bigint } | undefined {
  const count = sliceCount(range);
  if (!Number.isInteger(number) || number < 0 || number >= count) return undefined;
  const size = 1n << BigInt(hostBits(range) - sliceBits(range));
  const start = toNumber(range.address) + BigInt(number) * size;
  const hasBroadcast = range.address.kind() === 'ipv4' && number === count - 1;
  return {
    first: number === 0 ? start + 1n : start,
    last: start + size - (hasBroadcast ? 2n : 1n),
  };
}

function hostBits({ address, prefixLength }: Range): number {
  return bitsOf(address) - prefixLength;
}

function sliceBits(range: Range): number {
  return Math.min(Math.ceil(hostBits(range) / 2), MAX_SLICE_BITS);
}

function toNumber(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  return address.toByteArray().reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

function formatNumber(number: bigint, { address }: Range): string {
  const bytes = Array.from({ length: bitsOf(address) / 8 }, (_, index) =>
    Number((number >> BigInt(8 * index)) & 255n),
  );
  return formatAddress(ipaddr.fromByteArray(bytes.reverse()));
}
