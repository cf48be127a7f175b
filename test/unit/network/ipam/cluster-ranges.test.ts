import { describe, expect, test } from '@jest/globals';
import type { EventHandler } from '../../../../src/kube/cache/listener.ts';
import { formatRange } from '../../../../src/network/ipam/cidr.ts';
import { type ClusterNode, NODES } from '../../../../src/network/ipam/cluster-objects.ts';
import { ClusterRanges, overlapText } from '../../../../src/network/ipam/cluster-ranges.ts';
import { followNodes, singleNodeReach } from '../../../../src/network/nodes/cluster-nodes.ts';
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

  test('may have host bits, as older API servers allow', () => {
    const ranges = new ClusterRanges();
    ranges.set('the pods of node n1', ['10.244.1.5/24']);
    expect(metBy(ranges, '10.244.1.128/25')).toContain('10.244.1.0/24 of the pods of node n1');
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

  test('keep the previous name in a message while it overlaps', () => {
    const ranges = new ClusterRanges();
    ranges.set('node n1', ['192.0.2.7']);
    ranges.set('node n2', ['192.0.2.5']);
    expect(metBy(ranges, '192.0.2.0/24', 'node n1')).toContain('node n1');
    ranges.set('node n1', []);
    expect(metBy(ranges, '192.0.2.0/24', 'node n1')).toContain('node n2');
  });
});

describe('nodes', () => {
  const node = (name: string, podCIDRs?: readonly string[], address?: string) => {
    const addresses = [
      { type: 'Hostname', address: name },
      ...(address ? [{ type: 'InternalIP', address }] : []),
    ];
    return NODES.decode({
      metadata: { name, labels: { big: 'x' } },
      spec: { podCIDRs },
      status: { images: [], addresses },
    });
  };

  test('limit a network of Multus if the cluster has more than one', () => {
    let handler: EventHandler<ClusterNode> = {};
    const there = new Map<string, ClusterNode>();
    const lister = { get: () => undefined, list: () => [], byIndex: () => [], size: 0 };
    const informer = {
      get lister() {
        return { ...lister, size: there.size };
      },
      addEventHandler: (given: EventHandler<ClusterNode>) => {
        handler = given;
        return { hasSynced: () => true, remove: () => {} };
      },
    };
    const ranges = new ClusterRanges();
    const reached: string[] = [];
    const reach = () => singleNodeReach(informer.lister).limitOf(undefined)?.message ?? 'all';
    followNodes(informer, ranges, () => reached.push(reach()));
    for (const name of ['n1', 'n2', 'n3']) {
      there.set(name, node(name));
      handler.onAdd?.(node(name, [`10.244.${name[1]}.0/24`], `192.0.2.${name[1]}`), false);
    }
    expect(metBy(ranges, '10.244.2.0/25')).toContain('the pods of node n2');
    expect(metBy(ranges, '192.0.2.2/31')).toContain('192.0.2.2 of node n2');
    for (const name of ['n3', 'n2']) {
      there.delete(name);
      handler.onDelete?.(node(name), false);
    }
    expect(reached).toEqual([expect.stringContaining('this cluster has 2 nodes'), 'all']);
    expect(metBy(ranges, '10.244.2.0/25')).toBeUndefined();
    expect(metBy(ranges, '192.0.2.2/31')).toBeUndefined();
  });

  test('are cached with their name and ranges only', () => {
    expect(node('n1', ['10.244.1.0/24'])).toEqual({
      metadata: { name: 'n1', uid: '', resourceVersion: '' },
      cidrs: ['10.244.1.0/24'],
      addresses: [],
      isOpen: true,
      isAway: false,
    });
    expect(node('n1').cidrs).toEqual([]);
  });
});
