import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatRange, overlaps } from '../../../src/network/ipam/cidr.ts';
import { FIRST_VNI, meshNetwork } from '../../../src/network/providers/multus/cni-config.ts';
import { conflictsOf, parseRoutes } from '../../../src/node-agent/routes.ts';
import { anyRange, firstHost } from '../network/ranges.ts';

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

test('parseRoutes ignores default routes and those of the operator', () => {
  expect(parseRoutes(printed).map(({ range, of }) => `${formatRange(range)} ${of}`)).toEqual([
    '10.8.0.0/24 a route of this node by tun0',
    '10.244.0.7/32 a route of this node by cali0',
    '10.244.1.0/26 a route of this node',
  ]);
});

test('conflictsOf returns exactly the Networks that overlap a range of the node', () => {
  fc.assert(
    fc.property(anyRange, fc.array(anyRange, { maxLength: 5 }), (range, taken) => {
      fc.pre(range.prefixLength < (range.address.kind() === 'ipv4' ? 31 : 127));
      const cidr = formatRange(range);
      const gateway = firstHost(range);
      const network = meshNetwork('default/a', { cidr, gateway }, { vni: FIRST_VNI, mtu: 1450 });
      if (!network) throw new Error(`${cidr} is a range for a Network`);
      const conflicts = conflictsOf(
        [network],
        taken.map((one) => ({ range: one, of: 'eth0' })),
      );
      expect(conflicts.has('default/a')).toBe(taken.some((one) => overlaps(one, range)));
    }),
  );
});
