import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { conflictFinder, parseRoutes, reportedRanges } from '../../../../src/networks/agent/routes.ts';
import { MAX_REPORTED_RANGES } from '../../../../src/networks/nodes/node-report.ts';
import { formatRange, holds, overlaps, type Range } from '../../../../src/networks/ranges/cidr.ts';
import { anyRange, firstHost, range } from '../ranges.ts';

// Output of `ip -json route show` of iproute2 6.1.
const printed = JSON.stringify([
  { dst: 'default', gateway: '192.0.2.254', dev: 'eth0', flags: [] },
  { dst: '0.0.0.0/1', gateway: '10.8.0.1', dev: 'tun0', flags: [] },
  { dst: '128.0.0.0/1', gateway: '10.8.0.1', dev: 'tun0', flags: [] },
  { dst: '10.8.0.0/24', dev: 'tun0', protocol: 'kernel', scope: 'link', prefsrc: '10.8.0.2', flags: [] },
  { dst: '10.244.0.7', dev: 'cali0', scope: 'link', flags: [] },
  { type: 'blackhole', dst: '10.244.1.0/26', protocol: '80', flags: [] },
  { dst: '10.20.0.0/24', dev: 'nw-0123456789ab', protocol: 'kernel', scope: 'link', flags: [] },
  {},
]);
const routesOf = (ranges: readonly Range[]) => ranges.map((one) => ({ range: one, of: 'eth0' }));

test('parseRoutes ignores default routes and those of the operator', () => {
  expect(parseRoutes(printed).map(({ range: found, of }) => `${formatRange(found)} ${of}`)).toEqual([
    '10.8.0.0/24 a route of this node by tun0',
    '10.244.0.7/32 a route of this node by cali0',
    '10.244.1.0/26 a route of this node',
  ]);
});

test('conflictFinder finds exactly the Networks that overlap a range of the node', () => {
  fc.assert(
    fc.property(fc.array(anyRange, { maxLength: 2 }), fc.array(anyRange, { maxLength: 5 }), (own, taken) => {
      const ranges = own.map((one) => ({ range: one, gateway: firstHost(one) }));
      const conflict = conflictFinder(routesOf(taken))({ ranges });
      expect(conflict !== undefined).toBe(taken.some((one) => own.some((other) => overlaps(one, other))));
    }),
  );
});

test('reportedRanges leaves out single addresses, what every node has, and what is inside of others', () => {
  const device = (name: string, ...addresses: readonly [address: string, prefixLength: number][]) => ({
    ...{ name, mtu: 1500 },
    addresses: addresses.map(([address, prefixLength]) => ({ address, prefixLength })),
  });
  const devices = [
    device('lo', ['127.0.0.1', 8], ['::1', 128]),
    device('eth0', ['192.0.2.1', 24], ['2001:db8::1', 64]),
    device('kube-ipvs0', ['10.96.0.1', 32]),
    device('wg0', ['10.8.0.2', 25]),
  ];
  const routes = [...parseRoutes(printed), ...routesOf([range('fe80::/64'), range('fd00::/8')])];
  expect(reportedRanges(routes, devices)).toEqual([
    '10.244.1.0/26',
    '10.8.0.0/24',
    '192.0.2.0/24',
    '2001:db8::/64',
    'fd00::/8',
  ]);
});

test('reportedRanges never overlap, hold all ranges, and are the same in any order', () => {
  const some = fc.array(anyRange, { maxLength: 8 }).map((all) => {
    return all.filter(({ address, prefixLength }) => prefixLength < (address.kind() === 'ipv4' ? 32 : 128));
  });
  fc.assert(
    fc.property(some, (ranges) => {
      const texts = reportedRanges(routesOf(ranges), []);
      const told = texts.map(range);
      expect(told.flatMap((a) => told.filter((b) => a !== b && overlaps(a, b)))).toEqual([]);
      for (const one of ranges) expect(told.some((wide) => holds(wide, one))).toBe(true);
      expect(reportedRanges(routesOf(ranges.toReversed()), [])).toEqual(texts);
    }),
  );
});

test('reportedRanges keeps the widest of too many', () => {
  const many = Array.from({ length: 300 }, (_, i) => range(`10.${i >> 8}.${i & 255}.0/24`));
  const told = reportedRanges(routesOf([...many, range('172.16.0.0/12')]), []);
  expect(told).toHaveLength(MAX_REPORTED_RANGES);
  expect(told).toContain('172.16.0.0/12');
});
