import { expect, jest, test } from '@jest/globals';
import { cachedNetwork } from '../../../../src/networks/api/resources.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import { newNetwork } from '../networks.ts';

test('cachedNetwork keeps only the fields that the operator reads', () => {
  const { apiVersion, kind, ...network } = newNetwork({
    finalizers: ['example.org/theirs'],
    deletedAt: '2026-01-01T00:00:00Z',
    deletionPolicy: 'Retain',
    status: { cidr: '192.168.0.0/16', vni: 7 },
  });
  const filled = {
    ...{ ...network, apiVersion, kind },
    metadata: {
      ...network.metadata,
      labels: { 'example.org/a': 'x'.repeat(63) },
      annotations: { a: 'x'.repeat(250_000) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x'.repeat(10_000), uid: 'u' }],
      managedFields: [{ fieldsV1: { a: 'x'.repeat(300_000) } }],
    },
  } as Network;
  expect(cachedNetwork(filled)).toEqual(network);
});

test('cachedNetwork writes each of thousands of nodes as text once, and keeps equal ones once', () => {
  const nodes = Array.from({ length: 5_000 }, (_, nth) => ({
    name: `node-${nth}`,
    address: `10.0.0.${nth}`,
  }));
  const status = () => structuredClone({ cidr: '192.168.0.0/16', nodes });
  const text = JSON.stringify(status());
  const stringify = jest.spyOn(JSON, 'stringify');
  const [one, other] = [status(), status()].map((each) => cachedNetwork(newNetwork({ status: each })));
  const written = stringify.mock.results.map(({ value }) => String(value).length);
  stringify.mockRestore();
  expect(written.reduce((sum, length) => sum + length)).toBeLessThan(2 * text.length + 10_000);
  expect(one?.status).toEqual(status());
  expect(other?.status?.nodes?.[7]).toBe(one?.status?.nodes?.[7]);
});
