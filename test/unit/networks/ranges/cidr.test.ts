import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  formatRange,
  gatewayProblem,
  overlaps,
  parseRange,
  type Range,
} from '../../../../src/networks/ranges/cidr.ts';
import { anyRange, range } from '../ranges.ts';

test.each([
  ['host bits', '10.0.0.5/16'],
  ['no prefix', '10.0.0.0'],
  ['a prefix too long', '10.0.0.0/33'],
  ['a leading zero', '010.0.0.0/16'],
  ['a leading zero of the prefix', '10.0.0.0/08'],
  ['hexadecimal parts', '0xa.0.0.0/8'],
  ['capitals', 'FD00:1::/64'],
  ['zeros that should be short', 'fd00:1:0::/64'],
  ['an IPv4-mapped address', '::ffff:a00:0/120'],
  ['a zone', 'fd00::%eth0/64'],
  ['nonsense', 'banana'],
  ['nothing', ''],
])('a range with %s is invalid: %s', (_, text) => {
  expect(parseRange(text)).toBeUndefined();
});

test('a range stays the same when it is formatted and parsed', () => {
  fc.assert(
    fc.property(anyRange, (any) => {
      expect(parseRange(formatRange(any))).toEqual(any);
    }),
  );
});

test('two ranges overlap exactly if their intervals of addresses intersect', () => {
  fc.assert(
    fc.property(anyRange, anyRange, (a, b) => {
      const meet = a.address.kind() === b.address.kind() && first(a) <= last(b) && first(b) <= last(a);
      expect(overlaps(a, b)).toBe(meet);
    }),
  );
});

test.each([
  ['192.168.0.1', '192.168.0.0/16'],
  ['192.168.255.254', '192.168.0.0/16'],
  ['10.0.0.255', '10.0.0.0/8'],
  ['fd00:1::1', 'fd00:1::/64'],
  ['fd00:1::ffff:ffff:ffff:ffff', 'fd00:1::/64'],
])('the gateway %s is valid for %s', (gateway, cidr) => {
  expect(gatewayProblem(gateway, range(cidr))).toBeUndefined();
});

test.each([
  ['banana', '10.0.0.0/24', 'is not an IPv4 or IPv6 address'],
  ['FD00::1', 'fd00::/64', 'is not in canonical form'],
  ['fd00::1%eth0', 'fd00::/64', 'is not in canonical form'],
  ['10.0.1.1', '10.0.0.0/24', 'is not inside 10.0.0.0/24'],
  ['fd00::1', '10.0.0.0/24', 'is not inside 10.0.0.0/24'],
  ['10.0.0.0', '10.0.0.0/24', 'is the network address of 10.0.0.0/24'],
  ['10.0.0.255', '10.0.0.0/24', 'is the broadcast address of 10.0.0.0/24'],
  ['10.127.255.255', '10.0.0.0/9', 'is the broadcast address of 10.0.0.0/9'],
  ['fd00::', 'fd00::/64', 'is the network address of fd00::/64'],
])('the gateway %s is invalid for %s: it %s', (gateway, cidr, problem) => {
  expect(gatewayProblem(gateway, range(cidr))).toBe(problem);
});

function first({ address }: Range): bigint {
  return BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`);
}

function last(range: Range): bigint {
  const bits = range.address.kind() === 'ipv4' ? 32 : 128;
  return first(range) + 2n ** BigInt(bits - range.prefixLength) - 1n;
}
