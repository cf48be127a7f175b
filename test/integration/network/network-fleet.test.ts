import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { CONFIG_MAPS, PODS } from '../../../src/kube/api/core-resources.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { loadKubeConfig } from '../../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { CLUSTER_NODES } from '../../../src/networks/ipam/cluster-ranges.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { memoryOf } from '../../support/operator/process-memory.ts';
import { operatorCalls } from '../../support/operator/rights.ts';

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
jest.setTimeout(process.env.NETWORK_FLEET ? 1_800_000 : 120_000);

let fixture: OperatorFixture;
let client: KubeClient;
let watched: Informer<Network>;
/** Updates of the watched Networks: of nodes in the status, and of counts alone. */
const updates = { nodes: 0, counts: 0 };
/** What `make network-fleet` prints. */
const figures: Record<string, unknown> = {};
const stopping = new AbortController();
const { signal } = stopping;
const options = { fieldManager: 'test', force: true, signal };

beforeAll(async () => {
  fixture = await startOperatorFixture({
    args: [`--node-agent-namespace=${AGENTS}`, '--resync=10s'],
    manifests: ['namespace', 'rbac'].map((file) => `deploy/overlays/node-agent/${file}.yaml`),
  });
  const config = loadKubeConfig({ kubeconfig: fixture.controlPlane.kubeconfigPath, master: undefined });
  client = new KubeClient({ transport: new Transport(config, systemClock, 'test'), clock: systemClock });
  await fixture.kubectl('wait', 'serviceaccount/default', '--for=create', '--timeout=30s');
  watched = new Informer({ client, clock: systemClock, resource: NETWORKS, onError: () => {} });
  watched.addEventHandler({ onUpdate: count });
  void watched.run(signal);
  await eachOf(NODE_COUNT, addNode);
});

afterAll(async () => {
  if (process.env.NETWORK_FLEET) process.stdout.write(`${JSON.stringify(figures)}\n`);
  stopping.abort();
  await fixture?.stop();
});

function count({ status: before }: Network, { status: after }: Network): void {
  if (isDeepStrictEqual(before, after)) return;
  if (!isDeepStrictEqual(before?.nodes ?? [], after?.nodes ?? [])) updates.nodes++;
  else if (
    isDeepStrictEqual(conditionOf(before?.conditions, 'Ready'), conditionOf(after?.conditions, 'Ready'))
  ) {
    updates.counts++;
  }
}

async function eachOf(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const addressOf = (node: number) => `172.31.${node >> 8}.${node & 255}`;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(100);
}

/** A node, and the report of its agent. */
async function addNode(index: number): Promise<void> {
  const name = `node-${index}`;
  const [address, ref] = [addressOf(index), { name }];
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
  await client.apply(CLUSTER_NODES, ref, node, options);
  const addresses = [{ type: 'InternalIP', address }];
  await client.apply(
    CLUSTER_NODES,
    ref,
    { ...node, status: { addresses } },
    { ...options, subresource: 'status' },
  );
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

const networks = () => watched.lister.list().filter(({ metadata }) => metadata.name.startsWith('network-'));
const isReady = ({ status }: Network) => conditionOf(status?.conditions, 'Ready')?.status === 'True';

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

/** Waits until the operator has handled all that came before, as a Network and a pod that come last show. */
async function untilHandled(name: string, index: number, node: number): Promise<void> {
  await addNetwork(name, index);
  await addPod(name, 0, node);
  const isOn = ({ status }: Network) => status?.nodes?.some((each) => each.name === `node-${node}`);
  await until(() => watched.lister.list().some((each) => each.metadata.name === name && isOn(each)));
}

test('a Network takes three writes to be Ready, whatever nodes there are', async () => {
  await eachOf(NETWORK_COUNT, (index) => addNetwork(`network-${index}`, index));
  await until(() => networks().length === NETWORK_COUNT && networks().every(isReady));
  figures.writesToReady = await writes();
  expect(figures.writesToReady).toEqual({
    'patch networks': NETWORK_COUNT,
    'create network-attachment-definitions': NETWORK_COUNT,
    'patch networks/status': NETWORK_COUNT,
  });
  expect(new Set(networks().map(({ status }) => status?.capacity?.total))).toEqual(new Set([253]));
});

test('each node that a Network comes to is one write, and counts are written seldom', async () => {
  const [startedMs, before] = [performance.now(), (await writes())['patch networks/status'] ?? 0];
  for (let nth = 0; nth < NODES_OF_EACH; nth++) {
    const nodeOf = (index: number) => (index + nth * 7) % NODE_COUNT;
    await eachOf(NETWORK_COUNT, (index) => addPod(`network-${index}`, nth, nodeOf(index)));
    await until(() => networks().every(({ status }) => status?.nodes?.length === nth + 1));
  }
  // More pods on the same nodes.
  const more = POD_COUNT - NETWORK_COUNT * NODES_OF_EACH;
  await eachOf(more, (index) => {
    const network = index % NETWORK_COUNT;
    return addPod(`network-${network}`, NODES_OF_EACH + index, network % NODE_COUNT);
  });
  const sum = (of: (network: Network) => number | undefined) =>
    networks().reduce((total, network) => total + (of(network) ?? 0), 0);
  await until(() => sum(({ status }) => status?.attachedPods) === POD_COUNT);
  await until(() => sum(({ status }) => status?.capacity?.allocated) === POD_COUNT);
  const seconds = (performance.now() - startedMs) / 1000;
  const written = ((await writes())['patch networks/status'] ?? 0) - before;
  Object.assign(figures, { seconds, written, writesOfNodes: updates.nodes, writesOfCounts: updates.counts });
  expect(updates.nodes).toBe(NETWORK_COUNT * NODES_OF_EACH);
  expect(written).toBe(updates.nodes + updates.counts);
  expect(updates.counts).toBeLessThanOrEqual(100 + 5 * seconds);
});

test('nothing is written while nothing changes', async () => {
  const before = await writes();
  const reconciled = async () => {
    const text = await (await fetch(`${fixture.operator.metricsUrl}/metrics`)).text();
    return Number(
      /^controller_runtime_reconcile_total\{controller="network",result="success"\} (\d+)$/m.exec(text)?.[1],
    );
  };
  const enough = (await reconciled()) + 2 * NETWORK_COUNT;
  while ((await reconciled()) < enough) await pause(300);
  expect(await writes()).toEqual(before);
});

test('a node that comes or goes without pods of Networks, and a restart, write nothing', async () => {
  const before = await writes();
  await eachOf(20, (index) => addNode(NODE_COUNT + index));
  await eachOf(10, async (index) => fixture.kubectl('delete', 'node', `node-${NODE_COUNT + index}`));
  await untilHandled('after-nodes', 60_000, NODE_COUNT + 11);
  expect(await writes()).toEqual(before);
  figures.firstLeaderMiB = (await memoryOf(fixture.operator.process.pid)).most;
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
  figures.largestObject = Math.max(...sizes);
  expect(figures.largestObject).toBeLessThan(MAX_OBJECT);
  const { most } = await memoryOf(fixture.operator.process.pid);
  figures.leaderMiB = most;
  expect(most).toBeLessThan(LEADER_MIB);
});
