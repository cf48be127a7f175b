import { describe, expect, test } from '@jest/globals';
import { formatRange } from '../../../../src/networks/ranges/cidr.ts';
import { CLUSTER_NODES, ClusterRanges, overlapText } from '../../../../src/networks/ranges/cluster-ranges.ts';
import { range } from '../ranges.ts';

/** The text of a message about what the range overlaps. */
function metBy(ranges: ClusterRanges, cidr: string, preferred?: string): string | undefined {
  const met = ranges.met(range(cidr), preferred);
  return met && overlapText(cidr, met);
}

describe('ranges of the cluster', () => {
  test('are named with their user', () => {
    const ranges = new ClusterRanges();
    ranges.set('the Services', ['10.96.0.0/12', 'fd00:96::/112', 'rubbish']);
    ranges.set('the pods of node n1', ['10.244.0.0/24']);
    ranges.set('node n1', ['192.0.2.7', 'fe80::1%eth0', '::ffff:192.0.2.8', 'fd00::7']);
    expect(metBy(ranges, '10.244.0.0/16')).toBe(
      '10.244.0.0/16 overlaps 10.244.0.0/24 of the pods of node n1',
    );
    expect(metBy(ranges, '10.97.1.0/24')).toBe('10.97.1.0/24 overlaps 10.96.0.0/12 of the Services');
    expect(metBy(ranges, 'fd00:96::/120')).toContain('fd00:96::/112 of the Services');
    expect(metBy(ranges, '192.0.2.0/29')).toBe('192.0.2.0/29 overlaps 192.0.2.7 of node n1');
    expect(metBy(ranges, '192.0.2.8/30')).toContain('192.0.2.8 of node n1');
    expect(metBy(ranges, 'fd00::/64')).toContain('fd00::7 of node n1');
    expect(metBy(ranges, '192.168.0.0/16')).toBeUndefined();
  });

  test('are removed with their user, and each change calls the handler once', () => {
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
});

describe('nodes', () => {
  test.each([
    ['node-role.kubernetes.io/control-plane', 'NoSchedule', true],
    ['gpu', 'NoExecute', true],
    ['gpu', 'PreferNoSchedule', false],
    ['node.kubernetes.io/not-ready', 'NoSchedule', false],
  ])('with the taint %s:%s are only for pods that tolerate it: %s', (key, effect, isTainted) => {
    const spec = { taints: [{ key, effect }] };
    expect(CLUSTER_NODES.decode({ metadata: { name: 'n' }, spec }).isTainted).toBe(isTainted);
  });
});
