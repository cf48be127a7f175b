import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readReport } from '../../../../src/networks/nodes/node-report.ts';
import { splitByShare } from '../../../../src/networks/nodes/reported-ranges.ts';
import { overlaps } from '../../../../src/networks/ranges/cidr.ts';
import { range } from '../ranges.ts';

const report = {
  version: 2,
  ranges: ['10.0.0.0/8', '192.0.2.1', 'fd00::/64'],
  underlay: { address: '192.0.2.1', mtu: 1500 },
  problems: { 'default/blue': 'it is away' },
};

test('the report of a node is read, also one of a later version with more fields', () => {
  expect(readReport(JSON.stringify(report)).current).toEqual(report);
  expect(readReport(JSON.stringify({ ...report, version: 3, more: 1 })).current).toMatchObject({
    ...report,
    version: 3,
  });
  const { underlay: _, ...without } = report;
  expect(readReport(JSON.stringify(without)).current).toEqual(without);
});

const AGENT = "its node agent's report";
const ADDRESS = 'other nodes cannot reach its address';

test.each<[string, object, string]>([
  ['without a version', { version: undefined }, `${AGENT} has an invalid "version": restart the agent`],
  ['of version 1', { version: 1 }, `${AGENT} has an invalid "version": restart the agent`],
  ['with a range that is none', { ranges: ['10.0.0.0/33'] }, `${AGENT} has an invalid "ranges"`],
  ['with too many ranges', { ranges: Array.from({ length: 257 }, () => '10.0.0.0/8') }, 'invalid "ranges"'],
  ['with more than an address', { underlay: { address: '192.0.2.1 drop', mtu: 1500 } }, ADDRESS],
  ['with an address in another form', { underlay: { address: '2001:DB8::1', mtu: 1500 } }, ADDRESS],
  [
    'with an address of every node',
    { underlay: { address: '127.0.0.1', mtu: 1500 } },
    `${ADDRESS} "127.0.0.1"`,
  ],
  ['with an address of a group', { underlay: { address: '239.1.1.1', mtu: 1500 } }, ADDRESS],
  ['with no address', { underlay: { address: '::', mtu: 1500 } }, ADDRESS],
  ['with an underlay that is none', { underlay: 'eth0' }, ADDRESS],
  [
    'with a small MTU',
    { underlay: { address: '192.0.2.1', mtu: 1 } },
    'its MTU 1 is not between 1350 and 65535',
  ],
  ['with a problem that is no text', { problems: { a: 1 } }, 'invalid "problems"'],
  ['with a list of problems', { problems: [] }, 'invalid "problems"'],
  ['with a pod that has no UID', { pod: { name: 'agent-1' } }, 'invalid "pod"'],
])('the report of a node %s is not read', (_, change, problem) => {
  const text = JSON.stringify({ ...report, ...change });
  expect(readReport(text).current).toBeUndefined();
  expect(readReport(text).problem).toContain(problem);
});

test('any text is the report of a node or none, and throws nothing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(readReport(text).current?.version ?? 2).toBeGreaterThanOrEqual(2);
    }),
  );
});

const allowed = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'].map(range);
/** Texts of ranges that are mostly wide. */
const wideRange = fc.oneof(
  fc
    .tuple(fc.constantFrom('10', '172', '192'), fc.nat(255), fc.nat(20))
    .map(([first, second, length]) => `${first}.${second}.0.0/${length}`),
  fc.tuple(fc.constantFrom('fc00::', 'fd00::', 'fd80::'), fc.nat(12)).map((parts) => parts.join('/')),
);

test.each<[string, readonly string[], readonly string[], readonly string[]]>([
  [
    'networks of a node',
    ['192.0.2.0/24', '10.8.0.0/24', '172.17.0.0/16'],
    ['10.8.0.0/24', '172.17.0.0/16', '192.0.2.0/24'],
    [],
  ],
  ['half of a range', ['10.0.0.0/9'], ['10.0.0.0/9'], []],
  ['both halves', ['10.0.0.0/9', '10.128.0.0/9'], ['10.0.0.0/9'], ['10.128.0.0/9']],
  ['a default route in parts', ['0.0.0.0/1', '128.0.0.0/1'], [], ['0.0.0.0/1', '128.0.0.0/1']],
  ['default routes', ['0.0.0.0/0', '::/0'], [], ['0.0.0.0/0', '::/0']],
  ['a range twice', ['10.0.0.0/10', '10.0.0.0/10', '10.64.0.0/10'], ['10.0.0.0/10', '10.64.0.0/10'], []],
  ['a range in two ways', ['10.0.0.0/8', '10.0.0.1/8', '10.64.0.0/8'], [], ['10.0.0.0/8']],
  ['what Networks may not have', ['8.0.0.0/7', '11.0.0.0/8'], ['11.0.0.0/8', '8.0.0.0/7'], []],
])('splitByShare takes %s', (_, texts, counted, wide) => {
  const split = splitByShare(texts, allowed);
  expect({ counted: split.counted.toSorted(), wide: split.wide }).toEqual({ counted, wide });
});

test('the report of one node leaves half of each allowed range, and all other ranges', () => {
  fc.assert(
    fc.property(fc.array(wideRange, { maxLength: 40 }), (texts) => {
      const { counted, wide } = splitByShare(texts, allowed);
      for (const one of allowed) {
        const within = counted.map(range).filter((each) => overlaps(one, each));
        const taken = within.reduce((sum, each) => sum + 2 ** (one.prefixLength - each.prefixLength), 0);
        expect(taken).toBeLessThanOrEqual(1 / 2);
      }
      for (const text of wide) expect(allowed.some((one) => overlaps(one, range(text)))).toBe(true);
    }),
  );
});
