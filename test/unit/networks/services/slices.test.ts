import { expect, test } from '@jest/globals';
import type { V1Endpoint } from '@kubernetes/client-node';
import { parseSelector, sliced } from '../../../../src/networks/services/slices.ts';

const endpoint = (index: number): V1Endpoint => ({
  addresses: [`10.0.${index >> 8}.${index & 255}`],
  conditions: { ready: true, serving: true, terminating: false },
  targetRef: { kind: 'Pod', namespace: 'default', name: `p${index}`, uid: `u${index}` },
});

test('the slices of a Service have at most 100 endpoints of one family', () => {
  const six = { ...endpoint(1), addresses: ['fd00::7'] };
  const slices = sliced('web', [...Array.from({ length: 250 }, (_, index) => endpoint(index)), six]);
  expect(slices.map(({ name, endpoints: { length } }) => `${name} ${length}`)).toEqual([
    'web-network-ipv4-0 100',
    'web-network-ipv4-1 100',
    'web-network-ipv4-2 50',
    'web-network-ipv6-0 1',
  ]);
  expect(slices.at(-1)).toMatchObject({ addressType: 'IPv6', endpoints: [six] });
});

test.each([
  ['app=web', { app: 'web' }],
  [' app = web , tier==front', { app: 'web', tier: 'front' }],
  ['app=', { app: '' }],
  ['app', undefined],
  ['', undefined],
  ['app!=web', undefined],
  ['app in (web)', undefined],
])('the selector %j is read as %j', (text, labels) => {
  const selector = parseSelector(text);
  expect(selector && Object.fromEntries(selector)).toEqual(labels);
});
