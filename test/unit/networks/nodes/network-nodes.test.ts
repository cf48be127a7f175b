import { describe, expect, test } from '@jest/globals';
import { NetworkNodes } from '../../../../src/networks/nodes/network-nodes.ts';
import { NODE_REPORTS, type ReportObject } from '../../../../src/networks/nodes/node-report.ts';
import { OPEN_ACCESS } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../../src/networks/pods/network-pods.ts';
import {
  CLUSTER_NODES,
  type ClusterNode,
  ClusterRanges,
} from '../../../../src/networks/ranges/cluster-ranges.ts';
import { FakeInformer } from '../../../support/kube/fake-informer.ts';
import { newNetwork } from '../networks.ts';
import { range } from '../ranges.ts';

function stage() {
  const nodes = new FakeInformer<ClusterNode>();
  const reports = new FakeInformer<ReportObject>();
  const pods = new FakeInformer<NetworkPod>(POD_INDEXERS);
  const ranges = new ClusterRanges();
  const told: string[] = [];
  const networkNodes = new NetworkNodes({
    ...{ nodes, reports, namespace: 'agents', pods, ranges },
    allowed: ['10.0.0.0/8', '192.168.0.0/16'].map(range),
    events: { event: ({ metadata }, { note }) => told.push(`${metadata.name}: ${note}`) },
    onNetwork: (key) => told.push(key),
    onMtu: () => told.push('mtu'),
    onMultus: () => told.push('multus'),
  });
  const node = (name: string, address: string, cidrs: readonly string[] = [], ready = 'True') =>
    nodes.set(
      CLUSTER_NODES.decode({
        metadata: { name },
        spec: { podCIDRs: cidrs },
        status: {
          addresses: [{ type: 'InternalIP', address }],
          conditions: [{ type: 'Ready', status: ready }],
        },
      }),
    );
  const reportText = (name: string, text: string) =>
    reports.set(NODE_REPORTS.decode({ metadata: { name, namespace: 'agents' }, data: { report: text } }));
  const report = (name: string, said: object = {}) =>
    reportText(name, JSON.stringify({ version: 2, ranges: [], problems: {}, ...said }));
  const pod = (name: string, nodeName: string) =>
    pods.set(
      networkPods(OPEN_ACCESS).decode({
        metadata: { name, namespace: 'default', annotations: { 'samplecrd.k8s.io/network': 'blue' } },
        spec: { nodeName },
      }),
    );
  const met = (text: string) => ranges.met(range(text))?.of;
  return { networkNodes, nodes, reports, node, report, reportText, pod, met, told };
}

describe('ranges', () => {
  test('of nodes, of their pods and of their other networks are taken, while the Node is there', () => {
    const { nodes, node, report, met } = stage();
    report('n1', { ranges: ['10.9.0.0/16'] });
    expect(met('10.9.1.0/24')).toBeUndefined();
    node('n1', '192.0.2.1', ['10.244.1.0/24']);
    expect(met('10.9.1.0/24')).toBe('a network of node n1');
    expect(met('10.244.0.0/16')).toBe('the pods of node n1');
    expect(met('192.0.2.0/24')).toBe('node n1');
    nodes.delete('n1');
    expect([met('10.9.1.0/24'), met('10.244.0.0/16'), met('192.0.2.0/24')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('beyond the share of one node count once two nodes report them, and are told once', () => {
    const { networkNodes, nodes, node, report, met, told } = stage();
    for (const [i, name] of ['n1', 'n2'].entries()) node(name, `192.0.2.${i + 1}`);
    report('n1', { ranges: ['0.0.0.0/0', '10.0.0.0/8', '10.9.0.0/16'] });
    report('n1', { ranges: ['0.0.0.0/0', '10.0.0.0/8', '10.9.0.0/16'], more: 1 });
    networkNodes.tellOfWideRanges();
    networkNodes.tellOfWideRanges();
    expect(told).toEqual([
      expect.stringMatching(/^n1: Networks may overlap 0\.0\.0\.0\/0, 10\.0\.0\.0\/8: /),
    ]);
    expect(met('10.5.0.0/24')).toBeUndefined();
    expect(met('10.9.1.0/24')).toBe('a network of node n1');
    report('n2', { ranges: ['0.0.0.0/0'] });
    expect(met('10.5.0.0/24')).toBeUndefined();
    report('n2', { ranges: ['10.0.0.0/8'] });
    expect(met('10.5.0.0/24')).toBe('a network of several nodes');
    expect(met('192.168.0.0/16')).toBeUndefined();
    nodes.delete('n1');
    expect(met('10.5.0.0/24')).toBeUndefined();
  });

  test('a Network of 192.168.0.0/16 meets nothing, unless a pool of the cluster is in it', () => {
    const { node, report, met } = stage();
    node('n1', '192.0.2.1', ['10.244.1.0/24']);
    report('n1', { ranges: ['10.1.2.0/24'] });
    expect(met('192.168.0.0/16')).toBeUndefined();
    report('n1', { ranges: ['192.168.44.0/26'] });
    expect(met('192.168.0.0/16')).toBe('a network of node n1');
  });
});

describe('Multus', () => {
  const bare = { withoutMultus: 'its first CNI configuration is 10-a.conf' };

  test('is nowhere if no node whose agent reports has it', () => {
    const { networkNodes, nodes, node, report, told } = stage();
    node('n1', '192.0.2.1');
    node('silent', '192.0.2.9');
    expect(networkNodes.withoutMultus()).toBeUndefined();
    told.length = 0;
    report('n1', bare);
    expect(networkNodes.withoutMultus()).toMatch(/on any node, for example on n1: its first CNI conf/);
    node('n2', '192.0.2.2');
    report('n2');
    expect(networkNodes.withoutMultus()).toBeUndefined();
    nodes.delete('n2');
    expect(networkNodes.withoutMultus()).toBeDefined();
    report('n1');
    expect(networkNodes.withoutMultus()).toBeUndefined();
    expect(told.filter((each) => each === 'multus')).toHaveLength(4);
  });
});

describe('a Network is told', () => {
  test('of the address and the agent of a node with its pods', () => {
    const { node, report, reportText, pod, told } = stage();
    node('n1', '192.0.2.1');
    pod('web', 'n1');
    told.length = 0;
    node('n1', '192.0.2.7');
    report('n1');
    reportText('n1', '{"number":1}');
    expect(told).toEqual(['default/blue', 'default/blue', 'default/blue']);
  });

  test('of problems that an agent reports of it, once', () => {
    const { node, report, told } = stage();
    node('n1', '192.0.2.1');
    report('n1');
    report('n1', { problems: { 'default/blue': 'no' } });
    report('n1', { problems: { 'default/blue': 'no' }, ranges: ['10.9.0.0/16'] });
    expect(told).toEqual(['default/blue']);
  });

  test('of nothing else', () => {
    const { nodes, reports, node, report, pod, told } = stage();
    pod('web', 'n1');
    node('n1', '192.0.2.1');
    told.length = 0;
    node('n1', '192.0.2.1');
    node('n1', '192.0.2.1', ['10.244.1.0/24']);
    node('n2', '192.0.2.2');
    report('n2', { ranges: ['10.9.0.0/16'] });
    nodes.delete('n2');
    reports.delete('agents/n2');
    expect(told).toEqual([]);
  });
});

test('a Network is told when a node with its pods fails, and when it is back', () => {
  const { networkNodes, node, report, pod, told } = stage();
  node('n1', '192.0.2.1');
  node('n2', '192.0.2.2');
  report('n1');
  pod('web', 'n1');
  told.length = 0;
  const condition = () => networkNodes.inUse(newNetwork(), ['n1']).condition;
  node('n2', '192.0.2.2', [], 'Unknown');
  expect([condition().status, told]).toEqual(['True', []]);
  node('n1', '192.0.2.1', [], 'Unknown');
  expect(condition()).toEqual({
    status: 'False',
    reason: 'NodeFailed',
    message: 'pods on these nodes may be unable to reach the others: n1 (the Node is not Ready)',
  });
  node('n1', '192.0.2.1', [], 'False');
  expect(told).toEqual(['default/blue']);
  node('n1', '192.0.2.1');
  expect([condition().status, told]).toEqual(['True', ['default/blue', 'default/blue']]);
});

test('all Networks are told of another default MTU', () => {
  const { networkNodes, node, report, told } = stage();
  node('n1', '192.0.2.1');
  report('n1', { underlay: { address: '192.0.2.1', mtu: 1500 } });
  expect(told).toEqual([]);
  node('n2', '192.0.2.2');
  report('n2', { underlay: { address: '192.0.2.2', mtu: 1400 } });
  expect(told).toEqual(['mtu']);
  expect(networkNodes.mtu()).toBe(1350);
});
