import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_REPORT, parseReport } from '../../../../src/network/nodes/node-report.ts';

const report = {
  version: 2,
  ranges: ['10.0.0.0/8', '192.0.2.1', 'fd00::/64'],
  underlay: { address: '192.0.2.1', mtu: 1500 },
  problems: { 'default/blue': 'it is away' },
};

test('a report is read, also one of a later version with more fields', () => {
  expect(parseReport(JSON.stringify(report))).toEqual(report);
  expect(parseReport(JSON.stringify({ ...report, version: 3, more: 1 }))).toMatchObject({
    ...report,
    version: 3,
  });
  const { underlay: _, ...without } = report;
  expect(parseReport(JSON.stringify(without))).toEqual(without);
});

test.each<[string, object]>([
  ['of an earlier release', { version: undefined }],
  ['of version 1', { version: 1 }],
  ['with a range that is none', { ranges: ['10.0.0.0/33'] }],
  ['with too many ranges', { ranges: Array.from({ length: 257 }, () => '10.0.0.0/8') }],
  ['with more than an address', { underlay: { address: '192.0.2.1 drop', mtu: 1500 } }],
  ['with an address in another form', { underlay: { address: '2001:DB8::1', mtu: 1500 } }],
  ['with an address of every node', { underlay: { address: '127.0.0.1', mtu: 1500 } }],
  ['with an address of a group', { underlay: { address: '239.1.1.1', mtu: 1500 } }],
  ['with no address', { underlay: { address: '::', mtu: 1500 } }],
  ['with a small MTU', { underlay: { address: '192.0.2.1', mtu: 1 } }],
  ['with a problem that is no text', { problems: { a: 1 } }],
  ['with a list of problems', { problems: [] }],
  ['with a pod that has no UID', { pod: { name: 'agent-1' } }],
])('a report %s is not read', (_, change) => {
  expect(parseReport(JSON.stringify({ ...report, ...change }))).toBeUndefined();
});

test('a report that is too long, or none, is not read', () => {
  expect(parseReport(undefined)).toBeUndefined();
  expect(parseReport(JSON.stringify({ ...report, more: 'x'.repeat(MAX_REPORT) }))).toBeUndefined();
});

test('any text is a report or none, and throws nothing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseReport(text)?.version ?? 2).toBeGreaterThanOrEqual(2);
    }),
  );
});
