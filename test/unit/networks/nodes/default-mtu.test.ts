import { expect, test } from '@jest/globals';
import { DefaultMtu } from '../../../../src/networks/nodes/default-mtu.ts';

test('without nodes and without reports it is what fits over Ethernet, by the family of the first address', () => {
  const mtu = new DefaultMtu();
  expect(mtu.get()).toBe(1450);
  expect(mtu.set('a', '192.0.2.1', undefined)).toBe(false);
  expect(mtu.set('b', '2001:db8::1', undefined)).toBe(true);
  expect(mtu.get()).toBe(1430);
});

test('it is the smallest that agents report, minus what VXLAN adds; other nodes do not count then', () => {
  const mtu = new DefaultMtu();
  mtu.set('windows', '192.0.2.9', undefined);
  expect(mtu.set('a', '192.0.2.1', { address: '192.0.2.1', mtu: 9000 })).toBe(true);
  expect(mtu.get()).toBe(8950);
  mtu.set('b', '192.0.2.2', { address: '2001:db8::2', mtu: 1420 });
  expect(mtu.get()).toBe(1350);
  expect(mtu.set('b', undefined, undefined)).toBe(true);
  expect(mtu.get()).toBe(8950);
});
