import { expect, test } from '@jest/globals';
import { CLUSTER_NODES, type ClusterNode } from '../../../../src/networks/nodes/cluster-node.ts';
import { NetworkNodes, REPLACED_WITHIN_MS } from '../../../../src/networks/nodes/network-nodes.ts';
import { NODE_REPORTS, type ReportObject } from '../../../../src/networks/nodes/node-report.ts';
import { OPEN_ACCESS } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../../src/networks/pods/network-pods.ts';
import { ClusterRanges } from '../../../../src/networks/ranges/cluster-ranges.ts';
import { FakeInformer } from '../../../support/kube/fake-informer.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { newNetwork } from '../networks.ts';
import { range } from '../ranges.ts';

const CONDITION = {
  type: 'NodesReady',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const;

function stage() {
  const nodes = new FakeInformer<ClusterNode>();
  const reports = new FakeInformer<ReportObject>();
  const clock = new FakeClock();
  const pods = new FakeInformer<NetworkPod>(POD_INDEXERS);
  const ranges = new ClusterRanges();
  const told: string[] = [];
  const networkNodes = new NetworkNodes({
    ...{ nodes, reports, clock, namespace: 'agents', pods, ranges },
    allowed: ['10.0.0.0/8', '192.168.0.0/16'].map(range),
    events: { event: ({ metadata }, { note }) => told.push(`${metadata.name}: ${note}`) },
    onNode: (name) => told.push(name),
    onAll: () => told.push('all'),
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
  const met = (text: string) => ranges.met(range(text))?.of;
  const agent = (name: string, uid: string, nodeName: string) =>
    pods.set(
      networkPods(OPEN_ACCESS).decode({ metadata: { name, namespace: 'agents', uid }, spec: { nodeName } }),
    );
  const reasonOn = (name: string, of = newNetwork()) => networkNodes.inUse(of, [name]).condition.reason;
  return {
    ...{ networkNodes, nodes, reports, pods, clock },
    ...{ node, report, reportText, agent, met, told, reasonOn },
  };
}

test('ranges of nodes, of their pods and of their other networks are taken, while the Node is there', () => {
  const { nodes, node, report, met } = stage();
  report('n1', { ranges: ['10.9.0.0/16'] });
  expect(met('10.9.1.0/24')).toBeUndefined();
  node('n1', '192.0.2.1', ['10.244.1.0/24']);
  expect(met('10.9.1.0/24')).toBe('a network on node n1');
  expect(met('10.244.0.0/16')).toBe('the pods on node n1');
  expect(met('192.0.2.0/24')).toBe('node n1');
  nodes.delete('n1');
  expect([met('10.9.1.0/24'), met('10.244.0.0/16'), met('192.0.2.0/24')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('ranges beyond the share of one node count once two nodes report them, and are reported once', () => {
  const { networkNodes, nodes, node, report, met, told } = stage();
  for (const [i, name] of ['n1', 'n2'].entries()) node(name, `192.0.2.${i + 1}`);
  report('n1', { ranges: ['0.0.0.0/0', '10.0.0.0/8', '10.9.0.0/16'] });
  report('n1', { ranges: ['0.0.0.0/0', '10.0.0.0/8', '10.9.0.0/16'], more: 1 });
  told.length = 0;
  networkNodes.tellOfWideRanges();
  networkNodes.tellOfWideRanges();
  expect(told).toEqual([
    expect.stringMatching(
      /^n1: ignored reported ranges 0\.0\.0\.0\/0, 10\.0\.0\.0\/8, so Networks may overlap them: /,
    ),
  ]);
  expect(met('10.5.0.0/24')).toBeUndefined();
  expect(met('10.9.1.0/24')).toBe('a network on node n1');
  report('n2', { ranges: ['0.0.0.0/0'] });
  expect(met('10.5.0.0/24')).toBeUndefined();
  report('n2', { ranges: ['10.0.0.0/8'] });
  expect(met('10.5.0.0/24')).toBe('a network on several nodes');
  expect(met('192.168.0.0/16')).toBeUndefined();
  nodes.delete('n1');
  expect(met('10.5.0.0/24')).toBeUndefined();
});

test('the range 192.168.0.0/16 of a Network meets nothing, unless a pool of the cluster is in it', () => {
  const { node, report, met } = stage();
  node('n1', '192.0.2.1', ['10.244.1.0/24']);
  report('n1', { ranges: ['10.1.2.0/24'] });
  expect(met('192.168.0.0/16')).toBeUndefined();
  report('n1', { ranges: ['192.168.44.0/26'] });
  expect(met('192.168.0.0/16')).toBe('a network on node n1');
});

const bare = { withoutMultus: 'its first CNI configuration is 10-a.conf' };

test('Multus is on no node if none whose agent reports has it, and takes pods', () => {
  const { networkNodes, nodes, node, report, told } = stage();
  node('n1', '192.0.2.1');
  node('silent', '192.0.2.9');
  expect(networkNodes.withoutMultus()).toBeUndefined();
  told.length = 0;
  report('n1', bare);
  expect(networkNodes.withoutMultus()).toMatch(/on any node; on n1, for example, its first CNI conf/);
  node('n2', '192.0.2.2');
  report('n2');
  expect(networkNodes.withoutMultus()).toBeUndefined();
  node('n2', '192.0.2.2', [], 'Unknown');
  expect(networkNodes.withoutMultus()).toBeDefined();
  node('n2', '192.0.2.2');
  nodes.delete('n2');
  expect(networkNodes.withoutMultus()).toBeDefined();
  report('n1');
  expect(networkNodes.withoutMultus()).toBeUndefined();
  expect(told.filter((each) => each === 'all')).toHaveLength(6);
});

test('Multus is not on the nodes that a pod names', () => {
  const { networkNodes, node, report } = stage();
  for (const [i, name] of ['n1', 'n2'].entries()) node(name, `192.0.2.${i + 1}`);
  report('n1', bare);
  report('n2');
  const on = (...names: readonly string[]) => networkNodes.withoutMultus(names);
  expect([on('n1'), on('n1', 'unknown')]).toEqual(
    Array(2).fill(
      expect.stringMatching(/^Multus attaches no pods on the pod's nodes; on n1, for example, its/),
    ),
  );
  expect([on('n2'), on('n1', 'n2'), on('unknown'), on()]).toEqual(Array(4).fill(undefined));
});

test('Multus is not missed on nodes with a taint', () => {
  const { networkNodes, nodes, report, told } = stage();
  const taint = (effect: string) =>
    nodes.set(CLUSTER_NODES.decode({ metadata: { name: 'n1' }, spec: { taints: [{ effect }] } }));
  report('n1', bare);
  taint('NoSchedule');
  expect(networkNodes.withoutMultus()).toBeUndefined();
  told.length = 0;
  taint('PreferNoSchedule');
  expect([networkNodes.withoutMultus() !== undefined, told]).toEqual([true, ['n1', 'all']]);
});

test('Multus is looked for on nodes whose agents are there', () => {
  const { networkNodes, pods, node, report, agent, told } = stage();
  for (const [i, name] of ['n1', 'n2'].entries()) node(name, `192.0.2.${i + 1}`);
  report('n1', bare);
  agent('a', 'u1', 'n2');
  report('n2', { pod: { name: 'a', uid: 'u1' } });
  told.length = 0;
  pods.delete('agents/a');
  expect([networkNodes.withoutMultus() !== undefined, told]).toEqual([true, ['n2', 'all']]);
  agent('b', 'u2', 'n2');
  report('n2', { pod: { name: 'b', uid: 'u2' } });
  expect([networkNodes.withoutMultus(), told]).toEqual([undefined, ['n2', 'all', 'n2', 'all']]);
});

test('a node is requeued after another address, state or report', () => {
  const { node, report, reportText, told } = stage();
  node('n1', '192.0.2.1');
  node('n1', '192.0.2.7');
  node('n1', '192.0.2.7', [], 'Unknown');
  report('n1');
  reportText('n1', '{"number":1}');
  expect(told).toEqual(Array(5).fill('n1'));
});

test('a node is requeued after nothing else', () => {
  const { node, report, told } = stage();
  node('n1', '192.0.2.1');
  report('n1');
  told.length = 0;
  node('n1', '192.0.2.1');
  report('n1');
  expect(told).toEqual([]);
});

test('NodesReady names pods on the node that have lost their interface, as long as they are the same', () => {
  const { networkNodes, node, report, pods } = stage();
  const annotations = { 'samplecrd.k8s.io/network': 'blue' };
  const start = (name: string, uid: string, nodeName: string) =>
    pods.set(
      networkPods(OPEN_ACCESS).decode({
        metadata: { name, uid, namespace: 'default', annotations },
        spec: { nodeName },
      }),
    );
  const condition = () => networkNodes.inUse(newNetwork({ name: 'blue' }), ['n1']).condition;
  node('n1', '192.0.2.1');
  start('web', 'u1', 'n1');
  start('far', 'u2', 'n2');
  const lost = { 'default/blue': { 'default/web': 'u1', 'default/far': 'u2', 'default/gone': 'u3' } };
  report('n1', { lost });
  expect(condition()).toMatchObject({
    reason: 'InterfaceMissing',
    message: expect.stringMatching(/n1 \(recreate the pods that lack their interface: default\/web\)$/),
  });
  start('web', 'u4', 'n1');
  expect(condition().reason).toBe('NodesReady');
});

test('NodesReady names a node that fails, until it is back', () => {
  const { networkNodes, node, report } = stage();
  node('n1', '192.0.2.1');
  node('n2', '192.0.2.2');
  report('n1');
  const condition = () => networkNodes.inUse(newNetwork(), ['n1']).condition;
  node('n2', '192.0.2.2', [], 'Unknown');
  expect(condition().status).toBe('True');
  node('n1', '192.0.2.1', [], 'Unknown');
  expect(condition()).toEqual({
    status: 'False',
    reason: 'NodeFailed',
    message: 'pods on these nodes may be unable to reach others: n1 (the Node is not Ready)',
  });
  node('n1', '192.0.2.1');
  expect(condition().status).toBe('True');
});

test('an address that was known stays while the agent of the node does not report', () => {
  const { networkNodes, node } = stage();
  node('n1', '192.0.2.1');
  const nodes = [{ name: 'n1', address: '198.51.100.1' }];
  const nodesOf = (status = {}) => networkNodes.inUse(newNetwork({ status }), ['n1']).nodes;
  expect(nodesOf()).toEqual([{ name: 'n1', address: '192.0.2.1' }]);
  expect(nodesOf({ nodes })).toEqual(nodes);
});

test('all Networks are requeued by another default MTU', () => {
  const { networkNodes, node, report, told } = stage();
  node('n1', '192.0.2.1');
  report('n1', { underlay: { address: '192.0.2.1', mtu: 1500 } });
  expect(told).not.toContain('all');
  node('n2', '192.0.2.2');
  report('n2', { underlay: { address: '192.0.2.2', mtu: 1400 } });
  expect(told.filter((each) => each === 'all')).toHaveLength(1);
  expect(networkNodes.mtu()).toBe(1350);
});

const ofPod = { pod: { name: 'agent-1', uid: 'u1' } };

function started() {
  const all = stage();
  all.node('n1', '192.0.2.1');
  all.agent('agent-1', 'u1', 'n1');
  all.report('n1', ofPod);
  all.told.length = 0;
  return all;
}

test('a report counts no more a minute after the pod of its agent has gone, and its node is requeued once', () => {
  const { networkNodes, pods, clock, told, reasonOn } = started();
  pods.delete('agents/agent-1');
  told.length = 0;
  clock.advance(REPLACED_WITHIN_MS - 1);
  networkNodes.tellOfGoneAgents();
  expect([reasonOn('n1'), told]).toEqual(['NodesReady', []]);
  clock.advance(1);
  networkNodes.tellOfGoneAgents();
  networkNodes.tellOfGoneAgents();
  expect([reasonOn('n1'), told]).toEqual(['NoAgent', ['n1']]);
  expect(networkNodes.inUse(newNetwork(), ['n1'])).toMatchObject({
    nodes: [{ name: 'n1', address: '192.0.2.1' }],
    condition: { message: expect.stringContaining('n1 (the pod of its node agent is gone: agent-1)') },
  });
});

test('a report counts no more where another pod has the name, and its agent does not report', () => {
  const { networkNodes, agent, clock, reasonOn } = started();
  agent('agent-1', 'u2', 'n1');
  clock.advance(REPLACED_WITHIN_MS);
  networkNodes.tellOfGoneAgents();
  expect(reasonOn('n1')).toBe('NoAgent');
});

test('a report counts while a rollout replaces the pod of its agent, also by one of the same name', () => {
  const { networkNodes, report, agent, pods, clock, reasonOn } = started();
  for (const [name, uid] of [
    ['agent-2', 'u2'],
    ['agent-2', 'u3'],
  ] as const) {
    pods.delete('agents/agent-1');
    agent(name, uid, 'n1');
    clock.advance(REPLACED_WITHIN_MS - 1);
    networkNodes.tellOfGoneAgents();
    expect(reasonOn('n1')).toBe('NodesReady');
    report('n1', { pod: { name, uid } });
    clock.advance(REPLACED_WITHIN_MS);
    networkNodes.tellOfGoneAgents();
    expect(reasonOn('n1')).toBe('NodesReady');
  }
});

test('a report without an agent leaves a Network as it is when the operator restarts', () => {
  const { networkNodes, node, report, agent, told, reasonOn } = stage();
  node('n1', '192.0.2.1');
  report('n1', ofPod);
  const lacking = newNetwork({
    status: { conditions: [{ ...networkNodes.inUse(newNetwork(), ['n2']).condition, ...CONDITION }] },
  });
  expect([reasonOn('n1'), reasonOn('n1', lacking)]).toEqual(['NodesReady', 'NoAgent']);
  told.length = 0;
  agent('agent-1', 'u1', 'n1');
  expect([reasonOn('n1', lacking), told]).toEqual(['NodesReady', ['n1']]);
});
