import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { formatAddress, parseRange, type Range } from '../../../src/networks/ranges/cidr.ts';

/** Parses a range. */
export function range(cidr: string): Range {
  const parsed = parseRange(cidr);
  if (!parsed) throw new Error(`expected a canonical range, got ${cidr}`);
  return parsed;
}

/** Ranges of both families that overlap often. */
export const anyRange: fc.Arbitrary<Range> = fc
  .tuple(fc.constantFrom(4, 16), fc.nat(3), fc.nat(7), fc.integer({ min: 0, max: 16 }))
  .map(([length, high, low, hostBits]) => {
    const prefixLength = length * 8 - hostBits;
    const bytes = new Array<number>(length).fill(0);
    bytes[0] = length === 4 ? 10 : 0xfd;
    bytes[length - 2] = high;
    bytes[length - 1] = low << 5;
    const address = ipaddr.fromByteArray(bytes.map((byte, i) => byte & maskByte(prefixLength, i)));
    return { address, prefixLength };
  });

/** The address after the network address. */
export function firstHost({ address }: Range): string {
  const bytes = address.toByteArray();
  bytes.push((bytes.pop() ?? 0) + 1);
  return formatAddress(ipaddr.fromByteArray(bytes));
}

function maskByte(prefixLength: number, index: number): number {
  const bits = Math.min(Math.max(prefixLength - index * 8, 0), 8);
  return (0xff << (8 - bits)) & 0xff;
}
