import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { CONFIG_MAPS, PODS } from '../../src/kube/api/core-resources.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { loadKubeConfig } from '../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../src/kube/client/transport.ts';
import { systemClock } from '../../src/kube/workqueue/clock.ts';
import { conditionOf } from '../../src/network/api/conditions.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../../src/network/api/resources.ts';
import type { Network } from '../../src/network/api/types.ts';
import { NODES } from '../../src/network/ipam/cluster-objects.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { type OperatorFixture, startOperatorFixture } from '../support/operator-fixture.ts';
import { memoryOf } from '../support/process-memory.ts';
import { operatorCalls } from '../support/rights.ts';

/**
 * The control plane alone: Networks on three nodes each, with the writes of the operator counted. `make network-fleet`
 * has it with 5,000 nodes, 1,000 Networks and 10,000 pods.
 */
const [NODE_COUNT, NETWORK_COUNT, POD_COUNT] = (process.env.NETWORK_FLEET ?? '100,20,100')
  .split(',')
  .map(Number) as [number, number, number];
const NODES_OF_EACH = 3;
const AT_ONCE = 16;
const MAX_OBJECT = 128 * 1024;
const LEADER_MIB = 350;
const AGENTS = 'envoy-initializer-node-agent';
const WRITTEN = ['networks', 'networks/status', 'network-attachment-definitions'];
jest.setTimeout(process.env.NETWORK_FLEET ? 1_200_000 : 60_000);

let fixture: OperatorFixture;
let client: KubeClient;
const { signal } = new AbortController();
const options = { fieldManager: 'test', force: true, signal };

beforeAll(async () => {
  fixture = await startOperatorFixture({ args: [`--node-agent-namespace=${AGENTS}`] });
  const config = loadKubeConfig({ kubeconfig: fixture.controlPlane.kubeconfigPath, master: undefined });
  client = new KubeClient({ transport: new Transport(config, systemClock, 'test'), clock: systemClock });
  for (const file of ['node-agent/namespace.yaml', 'node-agent/rbac.yaml']) {
    await fixture.kubectl('apply', '-f', join(projectDirectory(), 'deploy/overlays', file));
  }
  await fixture.kubectl('wait', 'serviceaccount/default', '--for=create', '--timeout=30s');
  await eachOf(NODE_COUNT, addNode);
});

afterAll(async () => {
  await fixture?.stop();
});

async function eachOf(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const addressOf = (node: number) => `172.31.${node >> 8}.${node & 255}`;

/** A node, and the report of its agent. */
async function addNode(index: number): Promise<void> {
  const name = `node-${index}`;
  const [address, ref] = [addressOf(index), { name }];
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
  await client.apply(NODES, ref, node, options);
  const addresses = [{ type: 'InternalIP', address }];
  await client.apply(NODES, ref, { ...node, status: { addresses } }, { ...options, subresource: 'status' });
  const report = { version: 2, ranges: ['172.31.0.0/16'], underlay: { address, mtu: 1500 }, problems: {} };
  const metadata = { name, namespace: AGENTS, labels: { 'samplecrd.k8s.io/node-report': '' } };
  const data = { report: JSON.stringify(report) };
  await client.apply(CONFIG_MAPS, metadata, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, options);
}

async function addNetwork(name: string, index: number): Promise<void> {
  const spec = { cidr: `10.${index >> 8}.${index & 255}.0/24`, gateway: `10.${index >> 8}.${index & 255}.1` };
  const metadata = { name, namespace: 'default' };
  const network = { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', metadata, spec };
  await client.create(NETWORKS, network, options);
}

/** A pod of the Network on one of its nodes. */
async function addPod(network: string, index: number, node: number): Promise<void> {
  const annotations = { 'k8s.v1.cni.cncf.io/networks': network };
  const metadata = { name: `${network}-${index}`, namespace: 'default', annotations };
  const spec = { nodeName: `node-${node}`, containers: [{ name: 'app', image: 'app' }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
  await client.create(PODS, pod, options);
}

async function networks(): Promise<readonly Network[]> {
  const { items } = await client.list(NETWORKS, { signal });
  return items.map(NETWORKS.decode).filter(({ metadata }) => metadata.name.startsWith('network-'));
}
const isReady = ({ status }: Network) => conditionOf(status?.conditions, 'Ready')?.status === 'True';

/** Lists all Networks until it is so. Seldom, because the list is long. */
async function untilListed(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(300);
}

/** The writes of the operator to what Networks are, by what they were. */
async function writes(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { verb, resource, name } of await operatorCalls(fixture.controlPlane.auditLogPath)) {
    const [plural = ''] = resource.split('.');
    if (!WRITTEN.includes(plural) || !['create', 'patch', 'update', 'delete'].includes(verb)) continue;
    if (!name.startsWith('network-')) continue;
    counts[`${verb} ${plural}`] = (counts[`${verb} ${plural}`] ?? 0) + 1;
  }
  return counts;
}
const statusWrites = async () => (await writes())['patch networks/status'] ?? 0;

/** Waits until the operator has handled all that came before, as a Network and a pod that come last show. */
async function untilHandled(name: string, index: number, node: number): Promise<void> {
  await addNetwork(name, index);
  await addPod(name, 0, node);
  await untilListed(async () => {
    const { status } = await client.get(NETWORKS, { namespace: 'default', name }, { signal });
    return status?.nodes?.some((each) => each.name === `node-${node}`) ?? false;
  });
}

test('a Network takes three writes to be Ready, whatever nodes there are', async () => {
  await eachOf(NETWORK_COUNT, (index) => addNetwork(`network-${index}`, index));
  await untilListed(async () => (await networks()).every(isReady));
  expect(await writes()).toEqual({
    'patch networks': NETWORK_COUNT,
    'create network-attachment-definitions': NETWORK_COUNT,
    'patch networks/status': NETWORK_COUNT,
  });
});

test('each node that a Network comes to is one write', async () => {
  for (let nth = 0; nth < NODES_OF_EACH; nth++) {
    const before = await statusWrites();
    const nodeOf = (index: number) => (index + nth * 7) % NODE_COUNT;
    await eachOf(NETWORK_COUNT, (index) => addPod(`network-${index}`, nth, nodeOf(index)));
    const isOn = ({ status }: Network) => status?.nodes?.length === nth + 1;
    await untilListed(async () => (await networks()).every(isOn));
    expect((await statusWrites()) - before).toBe(NETWORK_COUNT);
  }
});

test('more pods on the same nodes change counts alone, which are written together', async () => {
  const before = await statusWrites();
  const more = POD_COUNT - NETWORK_COUNT * NODES_OF_EACH;
  await eachOf(more, (index) => {
    const network = index % NETWORK_COUNT;
    return addPod(`network-${network}`, NODES_OF_EACH + index, network % NODE_COUNT);
  });
  const sum = (all: readonly Network[]) =>
    all.reduce((count, { status }) => count + (status?.attachedPods ?? 0), 0);
  await untilListed(async () => sum(await networks()) === POD_COUNT);
  expect((await statusWrites()) - before).toBeLessThanOrEqual(more);
});

test('a node that comes or goes without pods of Networks, and a restart, write nothing', async () => {
  const before = await writes();
  await eachOf(20, (index) => addNode(NODE_COUNT + index));
  await eachOf(10, async (index) => fixture.kubectl('delete', 'node', `node-${NODE_COUNT + index}`));
  await untilHandled('after-nodes', 60_000, NODE_COUNT + 11);
  expect(await writes()).toEqual(before);
  process.kill(fixture.operator.process.pid, 'SIGKILL');
  await fixture.operator.restart();
  await untilHandled('after-restart', 60_001, NODE_COUNT + 12);
  expect(await writes()).toEqual(before);
});

test('no object is large, nor is the leader', async () => {
  const lists = [NETWORKS, NETWORK_ATTACHMENT_DEFINITIONS, CONFIG_MAPS].map((of) =>
    client.list(of, { signal }),
  );
  const objects = (await Promise.all(lists)).flatMap(({ items }) => items);
  const sizes = objects.map((object) => JSON.stringify(object).length);
  expect(Math.max(...sizes)).toBeLessThan(MAX_OBJECT);
  const { most } = await memoryOf(fixture.operator.process.pid);
  expect(most).toBeLessThan(LEADER_MIB);
});
