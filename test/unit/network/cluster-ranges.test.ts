import { describe, expect, test } from '@jest/globals';
import type { EventHandler } from '../../../src/kube/listener.ts';
import { followNodes, singleNodeReach } from '../../../src/network/cluster-nodes.ts';
import { NODES, type RangeHolder } from '../../../src/network/cluster-objects.ts';
import { ClusterRanges } from '../../../src/network/cluster-ranges.ts';

describe('ranges of the cluster', () => {
  test('are named with whose they are', () => {
    const ranges = new ClusterRanges();
    ranges.set('the Services', ['10.96.0.0/12', 'fd00:96::/112', 'rubbish']);
    ranges.set('the pods of node n1', ['10.244.0.0/24']);
    expect(ranges.warningFor('10.244.0.0/16')).toContain(
      '10.244.0.0/16 overlaps 10.244.0.0/24 of the pods of node n1: ',
    );
    expect(ranges.warningFor('10.97.1.0/24')).toContain('10.96.0.0/12 of the Services');
    expect(ranges.warningFor('fd00:96::/120')).toContain('fd00:96::/112 of the Services');
    expect(ranges.warningFor('192.168.0.0/16')).toBeUndefined();
  });

  test('are forgotten with whose they were', () => {
    const ranges = new ClusterRanges();
    ranges.set('the pods of node n1', ['10.244.0.0/24']);
    ranges.set('the pods of node n1', ['10.245.0.0/24']);
    expect(ranges.warningFor('10.244.0.0/16')).toBeUndefined();
    ranges.set('the pods of node n1', []);
    expect(ranges.warningFor('10.245.0.0/16')).toBeUndefined();
  });
});

describe('nodes', () => {
  const node = (name: string, podCIDRs?: readonly string[]) =>
    NODES.narrow({ metadata: { name, labels: { big: 'x' } }, spec: { podCIDRs }, status: { images: [] } });

  test('are more than a network of Multus reaches where there is more than one', () => {
    let handler: EventHandler<RangeHolder> = {};
    const there = new Map<string, RangeHolder>();
    const lister = { get: () => undefined, list: () => [], byIndex: () => [], size: 0 };
    const informer = {
      get lister() {
        return { ...lister, size: there.size };
      },
      addEventHandler: (given: EventHandler<RangeHolder>) => {
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
      handler.onAdd?.(node(name, [`10.244.${name[1]}.0/24`]), false);
    }
    expect(ranges.warningFor('10.244.2.0/25')).toContain('the pods of node n2');
    for (const name of ['n3', 'n2']) {
      there.delete(name);
      handler.onDelete?.(node(name), false);
    }
    expect(reached).toEqual([expect.stringContaining('this cluster has 2 nodes'), 'all']);
    expect(ranges.warningFor('10.244.2.0/25')).toBeUndefined();
  });

  test('are kept with their name and ranges alone', () => {
    expect(node('n1', ['10.244.1.0/24'])).toEqual({
      metadata: { name: 'n1', uid: '', resourceVersion: '' },
      cidrs: ['10.244.1.0/24'],
      addresses: [],
      isOpen: true,
    });
    expect(node('n1').cidrs).toEqual([]);
  });
});
