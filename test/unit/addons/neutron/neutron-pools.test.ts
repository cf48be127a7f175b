import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { poolCapacity, poolsAround } from '../../../../src/addons/neutron/neutron-pools.ts';
import { parseRange, podCapacity } from '../../../../src/networks/ipam/cidr.ts';

function pools(cidr: string, gateway: string): string {
  const range = parseRange(cidr);
  if (!range) throw new Error(`no range: ${cidr}`);
  return poolsAround(range, gateway)
    .map(({ start, end }) => `${start}-${end}`)
    .join(' ');
}

describe('allocation pools', () => {
  // The answers of Neutron 29 for the same subnets.
  test.each([
    ['10.5.0.0/24', '10.5.0.1', '10.5.0.2-10.5.0.254'],
    ['10.5.0.0/24', '10.5.0.9', '10.5.0.1-10.5.0.8 10.5.0.10-10.5.0.254'],
    ['10.5.0.0/24', '10.5.0.254', '10.5.0.1-10.5.0.253'],
    ['192.168.0.0/16', '192.168.0.1', '192.168.0.2-192.168.255.254'],
    ['10.9.0.0/30', '10.9.0.1', '10.9.0.2-10.9.0.2'],
    ['fd00:2::/126', 'fd00:2::1', 'fd00:2::2-fd00:2::3'],
    ['fd00:1::/64', 'fd00:1::1', 'fd00:1::2-fd00:1::ffff:ffff:ffff:ffff'],
  ])('of %s around %s are %s', (cidr, gateway, expected) => {
    expect(pools(cidr, gateway)).toBe(expected);
  });

  test('have as many addresses as the range has for pods', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 30 }), fc.nat(), (length, n) => {
        const range = parseRange(`10.0.0.0/${length}`);
        if (!range) throw new Error('no range');
        const hosts = 2 ** (32 - length) - 2;
        const offset = (n % hosts) + 1;
        const bytes = [24, 16, 8, 0].map((shift) => ((10 * 2 ** 24 + offset) / 2 ** shift) & 255);
        expect(poolCapacity(poolsAround(range, bytes.join('.')))).toBe(podCapacity(range));
      }),
    );
  });

  test('with invalid addresses do not count', () => {
    expect(poolCapacity([{ start: 'x', end: '10.0.0.2' }])).toBe(0);
    expect(poolCapacity([{ start: '::', end: 'ffff::' }])).toBe(Number.MAX_SAFE_INTEGER);
  });
});
