import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { nodeNetworkOf } from '../../../../src/networks/agent/desired.ts';
import type { NetworkStatus } from '../../../../src/networks/api/types.ts';
import { formatRange } from '../../../../src/networks/ipam/cidr.ts';
import { bridgeName, FIRST_VNI } from '../../../../src/networks/multus/cni-config.ts';
import { newNetwork } from '../networks.ts';

const status: NetworkStatus = {
  cidr: '10.20.0.0/24',
  gateway: '10.20.0.1',
  secondary: { cidr: 'fd00::/64', gateway: 'fd00::1' },
  vni: FIRST_VNI,
  mtu: 1400,
  nodes: [
    { name: 'a', address: '192.0.2.1' },
    { name: 'b', address: '192.0.2.2' },
    { name: 'c', address: 'nowhere' },
  ],
};
const read = (of: NetworkStatus, node = 'a') => nodeNetworkOf(newNetwork({ name: 'blue', status: of }), node);

test('nodeNetworkOf reads the ranges, the other nodes, and whether this node is named', () => {
  const { ranges, ...rest } = read(status) ?? { ranges: [] };
  expect(ranges.map(({ range, gateway }) => [formatRange(range), gateway])).toEqual([
    ['10.20.0.0/24', '10.20.0.1'],
    ['fd00::/64', 'fd00::1'],
  ]);
  expect(rest).toEqual({
    key: 'default/blue',
    bridge: bridgeName('default/blue'),
    vni: FIRST_VNI,
    mtu: 1400,
    others: [{ name: 'b', address: '192.0.2.2' }],
    isHere: true,
  });
  expect(read(status, 'z')?.isHere).toBe(false);
});

test.each<[string, Partial<Record<keyof NetworkStatus, unknown>>]>([
  ['no nodes', { nodes: undefined }],
  ['no VNI', { vni: undefined }],
  ['a VNI of others', { vni: 4096 }],
  ['a range with host bits', { cidr: '10.20.0.7/24' }],
  ['a gateway outside', { gateway: '10.21.0.1' }],
  ['a second gateway outside', { secondary: { cidr: 'fd00::/64', gateway: 'fd01::1' } }],
])('nodeNetworkOf reads nothing from a status with %s', (_, other) => {
  expect(read({ ...status, ...other } as NetworkStatus)).toBeUndefined();
});

test('nodeNetworkOf throws for no status', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('10.20.0.0/24', '10.20.0.1', 'fd00::/64'));
  const any = fc.record(
    {
      cidr: text,
      gateway: text,
      vni: fc.integer(),
      nodes: fc.array(fc.record({ name: text, address: text })),
    },
    { requiredKeys: [] },
  );
  fc.assert(fc.property(any, (of) => void read(of)));
});
