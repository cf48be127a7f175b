import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { formatRange, overlaps, podCapacity } from '../../../../src/network/ipam/cidr.ts';
import { sliceCapacity, sliceCount, sliceOf } from '../../../../src/network/nodes/slices.ts';
import { range } from '../ranges.ts';

function number(address: string): bigint {
  return ipaddr
    .parse(address)
    .toByteArray()
    .reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

const ranges = fc
  .oneof(
    fc.record({
      bytes: fc.uint8Array({ minLength: 4, maxLength: 4 }),
      length: fc.integer({ min: 8, max: 30 }),
    }),
    fc.record({
      bytes: fc.uint8Array({ minLength: 16, maxLength: 16 }),
      length: fc.integer({ min: 16, max: 126 }),
    }),
  )
  .map(({ bytes, length }) => {
    const kind = bytes.length === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
    const address = kind.networkAddressFromCIDR(`${ipaddr.fromByteArray([...bytes])}/${length}`);
    return { address, prefixLength: length };
  });

describe('the slices of a range', () => {
  test.each([
    [
      '10.20.0.0/24',
      16,
      ['10.20.0.1', '10.20.0.15'],
      ['10.20.0.16', '10.20.0.31'],
      ['10.20.0.240', '10.20.0.254'],
    ],
    [
      '192.168.0.0/16',
      256,
      ['192.168.0.1', '192.168.0.255'],
      ['192.168.1.0', '192.168.1.255'],
      ['192.168.255.0', '192.168.255.254'],
    ],
    ['10.0.0.0/30', 2, ['10.0.0.1', '10.0.0.1'], ['10.0.0.2', '10.0.0.2'], ['10.0.0.2', '10.0.0.2']],
    [
      '10.0.0.0/8',
      4096,
      ['10.0.0.1', '10.0.15.255'],
      ['10.0.16.0', '10.0.31.255'],
      ['10.255.240.0', '10.255.255.254'],
    ],
    [
      'fd00:1::/64',
      4096,
      ['fd00:1::1', 'fd00:1::f:ffff:ffff:ffff'],
      ['fd00:1:0:0:10::', 'fd00:1::1f:ffff:ffff:ffff'],
      ['fd00:1:0:0:fff0::', 'fd00:1::ffff:ffff:ffff:ffff'],
    ],
  ])('%s has %i', (text, count, first, second, last) => {
    const of = range(text);
    expect(sliceCount(of)).toBe(count);
    expect([0, 1, count - 1].map((n) => Object.values(sliceOf(of, n) ?? {}))).toEqual([first, second, last]);
  });

  test('are in the range, do not overlap, and end after the last one', () => {
    fc.assert(
      fc.property(ranges, fc.nat(), fc.nat(), (of, a, b) => {
        const count = sliceCount(of);
        const [one, other] = [sliceOf(of, a % count), sliceOf(of, b % count)];
        if (!one || !other) throw new Error('the slice does not exist');
        for (const address of Object.values(one)) {
          const alone = {
            address: ipaddr.parse(address),
            prefixLength: of.address.kind() === 'ipv4' ? 32 : 128,
          };
          expect(overlaps(of, alone)).toBe(true);
        }
        expect(number(one.first) <= number(one.last)).toBe(true);
        if (a % count < b % count) expect(number(one.last) < number(other.first)).toBe(true);
        for (const none of [-1, 0.5, count]) expect(sliceOf(of, none)).toBeUndefined();
      }),
    );
  });

  test('together have all addresses of the range for pods', () => {
    fc.assert(
      fc.property(
        ranges.filter((of) => sliceCount(of) <= 256),
        (of) => {
          const gateway = sliceOf(of, 0)?.first ?? '';
          const sum = Array.from({ length: sliceCount(of) }, (_, n) => sliceCapacity(of, gateway, n));
          const total = Math.min(
            sum.reduce((a, b) => a + b, 0),
            Number.MAX_SAFE_INTEGER,
          );
          expect({ of: formatRange(of), total }).toEqual({ of: formatRange(of), total: podCapacity(of) });
        },
      ),
    );
  });

  test('do not count the gateway in any slice', () => {
    const of = range('10.20.0.0/24');
    expect([0, 1, 15].map((n) => sliceCapacity(of, '10.20.0.1', n))).toEqual([14, 16, 15]);
    expect([0, 1, 15, 16].map((n) => sliceCapacity(of, '10.20.0.254', n))).toEqual([15, 16, 14, 0]);
  });
});
