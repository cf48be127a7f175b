import { describe, expect, test } from '@jest/globals';
import {
  type Endpoint,
  MAX_ENDPOINTS,
  parseSelector,
  type Slice,
  sliced,
} from '../../../../src/networks/services/slices.ts';

const endpoint = (index: number, isReady = true): Endpoint => ({
  addresses: [`10.0.${index >> 8}.${index & 255}`],
  conditions: { ready: isReady, serving: isReady, terminating: false },
  targetRef: { kind: 'Pod', namespace: 'default', name: `p${index}`, uid: `u${index}` },
});
const endpoints = (n: number) => Array.from({ length: n }, (_, index) => endpoint(index));
const names = (slices: readonly Slice[]) =>
  slices.map(({ name, endpoints: { length } }) => `${name} ${length}`);

describe('the slices of a Service', () => {
  test('have at most 100 endpoints each', () => {
    expect(names(sliced('web', 'IPv4', endpoints(250), []))).toEqual([
      'web-network-ipv4-0 100',
      'web-network-ipv4-1 100',
      'web-network-ipv4-2 50',
    ]);
  });

  test('change one at a time: an endpoint stays where it is, and a new one takes the first room', () => {
    const before = sliced('web', 'IPv4', endpoints(250), []);
    const after = sliced('web', 'IPv4', [...endpoints(250).slice(1), endpoint(999)], before);
    expect(names(after)).toEqual(names(before));
    expect(after[0]?.endpoints.at(-1)).toEqual(endpoint(999));
    expect(after.slice(1)).toEqual(before.slice(1));
  });

  test('have the present state of each pod', () => {
    const before = sliced('web', 'IPv4', [endpoint(1)], []);
    expect(sliced('web', 'IPv4', [endpoint(1, false)], before)[0]?.endpoints).toEqual([endpoint(1, false)]);
  });

  test('go when they are empty, and keep away from other names', () => {
    const before = [
      { name: 'web-network-ipv4-0', addressType: 'IPv6', endpoints: [] },
      { name: 'web-network-ipv4-1', addressType: 'IPv4', endpoints: [endpoint(1)] },
    ];
    expect(sliced('web', 'IPv4', [], before)).toEqual([]);
    const many = sliced('web', 'IPv4', endpoints(MAX_ENDPOINTS + 1), before);
    expect(names(many)).toEqual(['web-network-ipv4-1 100', 'web-network-ipv4-2 1']);
  });
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
