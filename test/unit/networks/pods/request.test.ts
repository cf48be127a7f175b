import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import ipaddr from 'ipaddr.js';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { parseRequest } from '../../../../src/networks/pods/request.ts';

const access = new NetworkAccess([]);
const ask = (element: object) => parseRequest(JSON.stringify([{ name: 'blue', ...element }]), 'red', access);
const many = (n: number, ip = '::') => Array.from({ length: n }, () => ip);

/** The number of texts that ipaddr.js parsed. */
let parsed: () => number;

beforeEach(() => {
  const families = [ipaddr.IPv4, ipaddr.IPv6] as unknown as readonly { parser(text: string): unknown }[];
  const spies = families.map((family) => jest.spyOn(family, 'parser'));
  parsed = () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
});

afterEach(() => {
  jest.restoreAllMocks();
});

test.each(['10.0.0.7', '10.0.0.7/24', 'fd00::7/64', '::ffff:10.0.0.7/104'])(
  'the addresses that a pod asks for may be %s, 32 times',
  (ip) => {
    expect(ask({ ips: many(32, ip) })).toHaveProperty('networks');
  },
);

test.each(['', '10.0.0.7/33', 'fd00::7/129', 'fd00::g', '/', '10.0.0.7/', ':/0'])(
  'the addresses that a pod asks for may not be %j',
  (ip) => {
    expect(ask({ ips: [ip] })).toMatchObject({ problem: expect.stringContaining('sets ips to') });
  },
);

test('the addresses that a pod asks for are not parsed if there are more', () => {
  const problem = `sets ips to [${'"::",'.repeat(15)}"::…: use a list of at most 32 addresses with prefix length, such as ["192.168.7.7/16"]`;
  expect(ask({ ips: many(33) })).toEqual({ problem });
  expect(ask({ ips: many(6_000) })).toEqual({ problem });
  expect(parsed()).toBe(0);
});

test('the addresses that a pod asks for are not parsed if one is too long', () => {
  expect(ask({ ips: ['1'.repeat(50), `${'1'.repeat(50)}::`] })).toHaveProperty('problem');
  expect(parsed()).toBe(0);
});
