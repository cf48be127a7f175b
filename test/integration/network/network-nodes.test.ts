import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { cniConfig } from '../../../src/networks/multus/cni-config.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import {
  AGENTS,
  ASKED,
  MULTUS,
  NetworkWorld,
  networkOf,
  podOn,
} from '../../support/network/network-world.ts';

jest.setTimeout(120_000);

let world: NetworkWorld;
const run: NetworkWorld['run'] = (...args) => world.run(...args);
const condition: NetworkWorld['condition'] = (...args) => world.condition(...args);
const until: NetworkWorld['untilReason'] = (...args) => world.untilReason(...args);
const addNode: NetworkWorld['addNode'] = (...args) => world.addNode(...args);
const nodes = async (name: string) => JSON.parse((await world.status(name, 'nodes')) || 'null');

beforeAll(async () => {
  // The rights come when the operator has begun.
  world = await NetworkWorld.start({ args: [`--node-agent-namespace=${AGENTS}`] });
  for (const file of ['namespace', 'rbac'])
    await run(`apply -f ${join(projectDirectory(), `deploy/overlays/node-agent/${file}.yaml`)}`);
  await addNode('a', '192.0.2.1');
  await addNode('b', '192.0.2.2');
});

afterAll(() => world?.stop());

const addNetwork = (name: string, cidr: string) => world.apply(networkOf(name, cidr));

/** The pod of an agent on the node. Resolves to what its report says of it. */
async function addAgent(
  name: string,
  nodeName: string,
): Promise<{ readonly name: string; readonly uid: string }> {
  await world.apply(podOn(name, { nodeName, metadata: { namespace: AGENTS } }));
  return { name, uid: await run(`get pod ${name} -n ${AGENTS} -o jsonpath={.metadata.uid}`) };
}

/** A pod on the node, which only Multus knows to be on the Network. */
const addPod = (name: string, multus: string, nodeName: string) =>
  world.apply(podOn(name, { multus, nodeName }));

const removePod = (name: string) => run(`delete pod ${name} --force --grace-period=0`);

/** Writes what the agent of the node reports. */
async function report(node: string, said: object): Promise<void> {
  await world.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: node, namespace: AGENTS, labels: { 'samplecrd.k8s.io/node-report': '' } },
    data: { report: JSON.stringify(said) },
  });
}

const fine = { version: 2, ranges: [], problems: {} };

test('a Network is Ready without any node, and each has a VNI and an MTU in its status', async () => {
  await addNetwork('blue', '10.20.0.0/24');
  await addNetwork('green', 'fd00:1::/64');
  for (const name of ['blue', 'green']) await until(name, 'Ready', 'Ready');
  expect(await nodes('blue')).toEqual([]);
  expect(await condition('blue', 'NodesReady', 'message')).toBe('no node has pods on the Network');
  expect(await world.status('blue', 'mtu')).toBe('1450');
  const vnis = [await world.status('blue', 'vni'), await world.status('green', 'vni')];
  expect(new Set(vnis.map(Number)).size).toBe(2);
});

test('node agents run on Linux nodes alone, and a Windows node concerns no Network', async () => {
  for (const os of ['linux', 'windows']) {
    await addNode(os, '192.0.2.9');
    await run(`label node ${os} kubernetes.io/os=${os}`);
  }
  await run(
    `apply -n ${AGENTS} -f ${join(projectDirectory(), 'deploy/overlays/node-agent/daemon-set.yaml')}`,
  );
  const agents = `daemonset/${AGENTS} -n ${AGENTS}`;
  await run(`wait ${agents} --for=jsonpath={.status.desiredNumberScheduled}=1 --timeout=30s`);
  expect(await condition('blue', 'NodesReady', 'status')).toBe('True');
  await run(`delete ${agents} --cascade=foreground --timeout=30s`);
  await run('delete node linux windows');
});

test('a node with a pod of the Network is in its status, and its trouble leaves the Network Ready', async () => {
  await addPod('one', 'blue', 'a');
  await until('blue', 'NodesReady', 'NoAgent');
  expect(await nodes('blue')).toEqual([{ name: 'a', address: '192.0.2.1' }]);
  expect(await condition('blue', 'NodesReady', 'message')).toBe(
    'pods on these nodes may be unable to reach others: a (its node agent has not reported)',
  );
  await report('a', { ...fine, problems: { 'default/blue': 'ip -batch - returned 1' } });
  await until('blue', 'NodesReady', 'NodeFailed');
  expect(await condition('blue', 'NodesReady', 'message')).toContain('a (ip -batch - returned 1)');
  await report('a', { ...fine, underlay: { address: '198.51.100.1', mtu: 1500 } });
  await until('blue', 'NodesReady', 'NodesReady');
  expect(await nodes('blue')).toEqual([{ name: 'a', address: '198.51.100.1' }]);
  expect(await condition('blue', 'Ready', 'status')).toBe('True');
});

test('an agent whose pod is replaced reports what it finds', async () => {
  await addNode('d', '192.0.2.4');
  await addNetwork('lone', '10.25.0.0/24');
  await addPod('lonely', 'lone', 'd');
  await run(`wait serviceaccount/default -n ${AGENTS} --for=create --timeout=30s`);
  await report('d', { ...fine, pod: await addAgent('agent-1', 'd') });
  await until('lone', 'NodesReady', 'NodesReady');
  await run(`delete pod agent-1 -n ${AGENTS} --force --grace-period=0`);
  await report('d', { ...fine, pod: await addAgent('agent-2', 'd'), problems: { 'default/lone': 'no' } });
  await until('lone', 'NodesReady', 'NodeFailed');
  await run(`delete pod agent-2 -n ${AGENTS} --force --grace-period=0`);
});

test('a node without pods of a Network changes nothing of it, whatever its agent reports', async () => {
  const version = () => run('get network blue -o jsonpath={.metadata.resourceVersion}');
  const before = await version();
  await addNode('c', '192.0.2.3');
  await report('c', { ...fine, problems: { 'default/blue': 'no', 'default/green': 'no' } });
  await run('delete node c');
  await addPod('other', 'green', 'b');
  await until('green', 'NodesReady', 'NoAgent');
  expect(await version()).toBe(before);
});

test('a range of a node’s other network is refused by name, until the node has it no more', async () => {
  await report('b', { ...fine, ranges: ['10.30.0.0/16'] });
  await until('green', 'NodesReady', 'NodesReady');
  await addNetwork('red', '10.30.7.0/24');
  await until('red', 'Accepted', 'RangeTaken');
  expect(await condition('red', 'Accepted', 'message')).toBe(
    '10.30.7.0/24 overlaps 10.30.0.0/16 of a network on node b: use a range that does not overlap it',
  );
  await report('b', fine);
  await until('red', 'Ready', 'Ready');
});

test('the default MTU is what fits between all nodes, and stays while pods use the Network', async () => {
  await report('b', { ...fine, underlay: { address: '192.0.2.2', mtu: 1400 } });
  await run('wait network/red --for=jsonpath={.status.mtu}=1350 --timeout=30s');
  expect(await run('get net-attach-def red -o jsonpath={.spec.config}')).toBe(cniConfig('default/red', 1350));
  expect(await world.status('blue', 'mtu')).toBe('1450');
});

test('a Network that is being deleted lists its nodes until the last pod is gone', async () => {
  await addPod('two', 'blue', 'b');
  await eventually('b is listed', async () => (await nodes('blue')).length === 2);
  await run('delete network blue --wait=false');
  await until('blue', 'Ready', 'Deleting');
  await removePod('one');
  await eventually('a is not listed', async () => (await nodes('blue')).length === 1);
  await removePod('two');
  await run('wait network/blue --for=delete --timeout=30s');
});

const bare = { ...fine, withoutMultus: 'its first CNI configuration is 10-kindnet.conflist (ptp)' };
const asking = (name: string, spec: object = {}) => podOn(name, { asked: 'cni', spec });

test('a pod that may run only on a node without Multus waits for Multus', async () => {
  await report('a', fine);
  await addNode('bare', '192.0.2.77');
  await report('bare', bare);
  await addNetwork('cni', '10.60.0.0/24');
  await until('cni', 'Ready', 'Ready');
  const nodeSelector = { 'kubernetes.io/hostname': 'bare' };
  await world.apply(asking('tied', { nodeSelector }), asking('free'));
  await world.untilGates('free');
  await world.untilEvent('pod/tied', 'WaitsForNetwork', 'on bare, for example, its first CNI');
  await world.untilGates('tied', ASKED);
  await report('bare', fine);
  await world.untilGates('tied');
});

test('a Network is not Ready until Multus is on a node', async () => {
  const reports = await run(`get configmaps -n ${AGENTS} -l samplecrd.k8s.io/node-report -o name`);
  // The agent of d is gone, and its report with it.
  for (const name of reports.trim().replaceAll('configmap/', '').split('\n'))
    if (name !== 'd') await report(name, bare);
  await until('cni', 'Ready', 'ProviderUnavailable');
  await world.apply(asking('held'));
  await world.untilGates('held', ASKED);
  await report('a', fine);
  await until('cni', 'Ready', 'Ready');
  await world.untilGates('held');
});

test('a pod that started without Multus has no interface: the pod, its Network and a metric say so', async () => {
  await addPod('lacking', 'cni', 'a');
  const status = { phase: 'Running', podIP: '10.244.0.9', podIPs: [{ ip: '10.244.0.9' }] };
  await world.merge('pod lacking', { status }, '--subresource=status');
  await until('cni', 'NodesReady', 'InterfaceMissing');
  expect(await condition('cni', 'NodesReady', 'message')).toContain('a (recreate the pods');
  await world.untilEvent('pod/lacking', 'InterfaceMissing', 'default/cni, because Multus');
  expect(await world.metrics()).toMatch(/^envoy_initializer_network_pods_unattached 1$/m);
  await removePod('lacking');
  await until('cni', 'NodesReady', 'NodesReady');
});

test('a pod that loses its interface is reported by the pod and its Network', async () => {
  await addPod('loser', 'cni', 'a');
  const metadata = {
    annotations: { [`${MULTUS}-status`]: '[{"name":"default/cni","ips":["10.60.0.9"]}]' },
  };
  await world.merge('pod loser', { metadata });
  const lost = {
    'default/cni': { 'default/loser': await run('get pod loser -o jsonpath={.metadata.uid}') },
  };
  await report('a', { ...fine, lost });
  await until('cni', 'NodesReady', 'InterfaceMissing');
  await world.untilEvent('pod/loser', 'InterfaceMissing', 'default/cni, lost after');
  await report('a', fine);
  await until('cni', 'NodesReady', 'NodesReady');
  await removePod('loser');
});

// The last one: its agent has to be gone for a minute.
test('a node whose agent is gone is named, although its report is there, until the next agent reports', async () => {
  await until('lone', 'NodesReady', 'NoAgent');
  expect(await condition('lone', 'NodesReady', 'message')).toBe(
    'pods on these nodes may be unable to reach others: d (the pod of its node agent is gone: agent-2)',
  );
  expect(await nodes('lone')).toEqual([{ name: 'd', address: '192.0.2.4' }]);
  await report('d', { ...fine, pod: await addAgent('agent-3', 'd') });
  await until('lone', 'NodesReady', 'NodesReady');
});
