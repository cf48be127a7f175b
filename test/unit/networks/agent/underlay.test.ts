import { expect, test } from '@jest/globals';
import { largestMtu, underlayOf } from '../../../../src/networks/agent/underlay.ts';

const device = (name: string, mtu: number, ...addresses: readonly string[]) => ({
  ...{ name, mtu },
  addresses: addresses.map((address) => ({ address, prefixLength: 24 })),
});
const devices = [
  device('eth0', 1500, '192.0.2.9', '192.0.2.1'),
  device('wg0', 1420, '10.8.0.1'),
  device('bare', 1500),
  device('lo', 65_536, '127.0.0.1'),
  device('small', 1300, '10.9.0.1'),
];
const of = (name: string | undefined, address?: string) => underlayOf(devices, { device: name, address });

test('underlayOf takes the device of the address of the node, or the chosen one with its first address', () => {
  expect(of(undefined, '192.0.2.1')).toEqual({ address: '192.0.2.1', mtu: 1500 });
  expect(of('wg0', '192.0.2.1')).toEqual({ address: '10.8.0.1', mtu: 1420 });
  expect(of('lo')).toEqual({ address: '127.0.0.1', mtu: 65_535 });
});

test.each([
  [undefined, undefined, 'the address of this node is not known: set --node-address or --underlay-device'],
  [undefined, '192.0.2.7', 'no device of this node has the address 192.0.2.7: set --underlay-device'],
  ['none', '192.0.2.1', 'the device none of --underlay-device does not exist on this node'],
  ['bare', '192.0.2.1', 'the device bare of --underlay-device has no address on this node'],
  ['small', undefined, 'the MTU of small is 1300: Networks need at least 1350'],
])('underlayOf says why there is none: %s, %s', (name, address, message) => {
  expect(() => of(name, address)).toThrow(message);
});

test('VXLAN leaves less for packets over IPv6', () => {
  expect(largestMtu({ address: '192.0.2.1', mtu: 1500 })).toBe(1450);
  expect(largestMtu({ address: '2001:db8::1', mtu: 1500 })).toBe(1430);
});
