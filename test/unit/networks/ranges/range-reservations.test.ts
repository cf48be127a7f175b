import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NETWORK_FINALIZER } from '../../../../src/networks/api/names.ts';
import { CLUSTER_NODES } from '../../../../src/networks/nodes/cluster-node.ts';
import { formatRange, overlaps } from '../../../../src/networks/ranges/cidr.ts';
import { ClusterRanges, overlapText } from '../../../../src/networks/ranges/cluster-ranges.ts';
import { RangeReservations } from '../../../../src/networks/ranges/range-reservations.ts';
import { type NetworkOptions, newNetwork } from '../networks.ts';
import { range } from '../ranges.ts';

/** Reservations, and a way to write Networks into them by name. */
function newReservations() {
  const freed: string[] = [];
  const reservations = new RangeReservations((key) => freed.push(key));
  const observe = (name: string, cidr: string, options: NetworkOptions = {}, isEligible = true) =>
    reservations.observe(newNetwork({ name, cidr, ...options }), isEligible);
  const reserve = (name: string) => {
    const blocker = reservations.reserve(`default/${name}`)?.by;
    if (blocker && 'of' in blocker) throw new Error(`expected a Network, got ${blocker.of}`);
    return blocker;
  };
  const forget = (name: string, uid = `uid-of-${name}`) => reservations.forget(`default/${name}`, uid);
  return { reservations, observe, reserve, forget, freed };
}

const subnetOf = (cidr: string) => ({ cidr, gateway: '' });
const heldIn = (cidr: string): NetworkOptions => ({ finalizers: [NETWORK_FINALIZER], status: { cidr } });

test('a free range goes to the older of two Networks, in any order of requests', () => {
  const { observe, reserve } = newReservations();
  observe('young', '10.0.0.0/16', { createdAt: '2026-01-01T00:00:02Z' });
  observe('old', '10.0.1.0/24', { createdAt: '2026-01-01T00:00:01Z' });
  expect(reserve('young')).toEqual({ key: 'default/old', cidr: '10.0.1.0/24' });
  expect(reserve('old')).toBeUndefined();
});

test('a free range does not wait for an older Network that is itself blocked', () => {
  const { observe, reserve, freed } = newReservations();
  observe('holder', '10.0.0.0/24', heldIn('10.0.0.0/24'));
  observe('old', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
  observe('young', '10.0.9.0/24');
  expect(reserve('young')).toEqual({ key: 'default/old', cidr: '10.0.0.0/16' });
  expect(reserve('old')).toEqual({ key: 'default/holder', cidr: '10.0.0.0/24' });
  expect(freed).toEqual(['default/young']);
  expect(reserve('young')).toBeUndefined();
});

test('a free range does not wait for an older Network that is invalid or being deleted', () => {
  const { observe, reserve } = newReservations();
  observe('old', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' }, false);
  observe('young', '10.0.0.0/16');
  expect(reserve('young')).toBeUndefined();
});

test.each(['0.0.0.0/0', '::/0'])(
  'a range that is held is not %s, which would keep all others from theirs',
  (all) => {
    const { observe, reserve } = newReservations();
    observe('poisoned', '10.0.0.0/16', heldIn(all));
    observe('four', '10.9.0.0/16');
    observe('six', 'fd00:9::/64');
    expect([reserve('four'), reserve('six')]).toEqual([undefined, undefined]);
  },
);

test('a range that is held is known after a restart from finalizer and status, not from a finalizer alone', () => {
  const { observe, reserve } = newReservations();
  observe('a', '10.5.0.0/16', heldIn('10.0.0.0/16'));
  observe('b', '10.1.0.0/16', { finalizers: [NETWORK_FINALIZER], createdAt: '2026-02-01T00:00:00Z' });
  observe('c', '10.0.0.0/24');
  observe('d', '10.1.0.0/24');
  expect(reserve('c')).toEqual({ key: 'default/a', cidr: '10.0.0.0/16' });
  expect(reserve('d')).toBeUndefined();
});

test('a range that is held is not released because of an outdated copy', () => {
  const { observe, reserve } = newReservations();
  observe('a', '10.0.0.0/16');
  reserve('a');
  observe('a', '10.0.0.0/16');
  observe('b', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
  expect(reserve('b')?.key).toBe('default/a');
});

test('a held range is free after a change of its Network, and the blocked Networks are requeued', () => {
  const { reservations, observe, reserve, freed } = newReservations();
  observe('a', '10.0.0.0/16', heldIn('10.0.0.0/16'));
  observe('b', '10.0.0.0/16');
  reserve('b');
  observe('a', '10.1.0.0/16', heldIn('10.0.0.0/16'));
  reserve('a');
  freed.length = 0;
  expect(reserve('b')).toEqual({ key: 'default/a', cidr: '10.0.0.0/16' });
  reservations.settle('default/a', subnetOf('10.1.0.0/16'));
  expect(freed).toEqual(['default/b']);
  expect(reserve('b')).toBeUndefined();
});

test('a range that is held is held together with the range of a pending change', () => {
  const { reservations, observe, reserve } = newReservations();
  observe('a', '10.0.0.0/16', heldIn('10.0.0.0/16'));
  observe('a', '10.1.0.0/16', heldIn('10.0.0.0/16'));
  reserve('a');
  reservations.settle('default/a', subnetOf('10.0.0.0/16'));
  observe('b', '10.0.0.0/16');
  observe('c', '10.1.0.0/16');
  expect(reserve('b')?.key).toBe('default/a');
  expect(reserve('c')?.key).toBe('default/a');
});

test('a range that is held is held while an attempt changes to it, also if the spec changes meanwhile', () => {
  const { reservations, observe, reserve } = newReservations();
  observe('a', '10.0.0.0/16');
  reserve('a');
  observe('a', '10.1.0.0/16');
  reservations.settle('default/a', undefined, subnetOf('10.0.0.0/16'));
  observe('b', '10.0.0.0/16');
  expect(reserve('b')?.key).toBe('default/a');
});

test('a range that is held is known from the status of another leader, also to a process that has led', () => {
  const { reservations, observe, reserve } = newReservations();
  observe('a', '10.0.0.0/16');
  reserve('a');
  reservations.settle('default/a', subnetOf('10.0.0.0/16'));
  observe('a', '10.1.0.0/16', heldIn('10.1.0.0/16'));
  observe('old', '10.1.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
  expect(reserve('old')?.key).toBe('default/a');
});

test('a range that is held is not released by a late deletion of an earlier Network of the same name', () => {
  const { observe, reserve, forget } = newReservations();
  observe('a', '10.0.0.0/16', { uid: 'new' });
  reserve('a');
  forget('a', 'old');
  observe('b', '10.0.0.0/16');
  expect(reserve('b')?.key).toBe('default/a');
});

test('blocked Networks are requeued once, and not at each reconcile', () => {
  const { observe, reserve, freed } = newReservations();
  observe('holder', '10.0.0.0/16');
  reserve('holder');
  for (const name of ['a', 'b', 'c']) observe(name, '10.0.0.0/16');
  for (let round = 0; round < 3; round++) for (const name of ['a', 'b', 'c', 'holder']) reserve(name);
  expect(freed).toEqual([]);
});

test('Networks blocked by a holder with a refused change are requeued once', () => {
  const { observe, reserve, freed } = newReservations();
  observe('other', '10.1.0.0/16', heldIn('10.1.0.0/16'));
  observe('holder', '10.0.0.0/16', heldIn('10.0.0.0/16'));
  observe('loser', '10.0.0.0/16');
  reserve('loser');
  observe('holder', '10.1.0.0/16', heldIn('10.0.0.0/16'));
  for (let round = 0; round < 3; round++) for (const name of ['holder', 'loser']) reserve(name);
  expect(freed.filter((key) => key === 'default/loser').length).toBeLessThanOrEqual(2);
  expect(reserve('loser')?.key).toBe('default/holder');
});

test('no two Networks ever hold overlapping ranges, through random changes', () => {
  const names = ['a', 'b', 'c', 'd'];
  const cidrs = ['10.0.0.0/24', '10.0.0.0/25', '10.0.0.128/25', '10.0.1.0/24', '10.0.0.0/23'];
  const step = fc.record({
    name: fc.constantFrom(...names),
    cidr: fc.constantFrom(...cidrs),
    what: fc.constantFrom('edit', 'reserve', 'reserve', 'settle', 'forget'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { reservations, observe, reserve, forget } = newReservations();
      const given = new Map<string, Set<string>>();
      const wanted = new Map<string, string>();
      for (const { name, cidr, what } of steps) {
        if (what === 'edit') {
          observe(name, cidr);
          wanted.set(name, cidr);
        }
        const wants = wanted.get(name);
        if (what === 'reserve' && wants && !reserve(name))
          given.set(name, (given.get(name) ?? new Set()).add(wants));
        if (what === 'settle' && wants && given.get(name)?.has(wants)) {
          reservations.settle(`default/${name}`, subnetOf(wants));
          given.set(name, new Set([wants]));
        }
        if (what === 'forget') {
          forget(name);
          given.delete(name);
          wanted.delete(name);
        }
        const all = [...given].flatMap(([owner, ranges]) =>
          [...ranges].map((of) => ({ owner, range: range(of) })),
        );
        const clash = all.find((a) => all.some((b) => a.owner !== b.owner && overlaps(a.range, b.range)));
        expect(clash).toBeUndefined();
      }
    }),
  );
});

/** The text of a message about what the range overlaps. */
function metBy(ranges: ClusterRanges, cidr: string, preferred?: string): string | undefined {
  const met = ranges.met(range(cidr), preferred);
  return met && overlapText(cidr, met);
}

test('ranges of the cluster are named with their user', () => {
  const ranges = new ClusterRanges();
  ranges.set('the Services', ['10.96.0.0/12', 'fd00:96::/112', 'rubbish']);
  ranges.set('the pods on node n1', ['10.244.0.0/24']);
  ranges.set('node n1', ['192.0.2.7', 'fe80::1%eth0', '::ffff:192.0.2.8', 'fd00::7']);
  expect(metBy(ranges, '10.244.0.0/16')).toBe('10.244.0.0/16 overlaps 10.244.0.0/24 of the pods on node n1');
  expect(metBy(ranges, '10.97.1.0/24')).toBe('10.97.1.0/24 overlaps 10.96.0.0/12 of the Services');
  expect(metBy(ranges, 'fd00:96::/120')).toContain('fd00:96::/112 of the Services');
  expect(metBy(ranges, '192.0.2.0/29')).toBe('192.0.2.0/29 overlaps 192.0.2.7 of node n1');
  expect(metBy(ranges, '192.0.2.8/30')).toContain('192.0.2.8 of node n1');
  expect(metBy(ranges, 'fd00::/64')).toContain('fd00::7 of node n1');
  expect(metBy(ranges, '192.168.0.0/16')).toBeUndefined();
});

test('ranges of the cluster are removed with their user, and each change calls the handler once', () => {
  const ranges = new ClusterRanges();
  const changes: string[] = [];
  ranges.onChange((of, changed) => changes.push(`${of}: ${changed.map(formatRange)}`));
  ranges.set('node n1', ['192.0.2.7']);
  ranges.set('node n1', ['192.0.2.7']);
  ranges.set('node n1', ['192.0.2.9']);
  expect(metBy(ranges, '192.0.2.0/29')).toBeUndefined();
  ranges.set('node n1', []);
  expect(metBy(ranges, '192.0.2.8/29')).toBeUndefined();
  expect(changes).toEqual([
    'node n1: 192.0.2.7/32',
    'node n1: 192.0.2.7/32,192.0.2.9/32',
    'node n1: 192.0.2.9/32',
  ]);
});

test.each([
  ['node-role.kubernetes.io/control-plane', 'NoSchedule', true],
  ['gpu', 'NoExecute', true],
  ['gpu', 'PreferNoSchedule', false],
  ['node.kubernetes.io/not-ready', 'NoSchedule', false],
])('nodes with the taint %s:%s are only for pods that tolerate it: %s', (key, effect, isTainted) => {
  const spec = { taints: [{ key, effect }] };
  expect(CLUSTER_NODES.decode({ metadata: { name: 'n' }, spec }).isTainted).toBe(isTainted);
});
