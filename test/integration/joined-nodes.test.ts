import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Network } from '../../src/network/api/types.ts';
import { meshNetworkOf } from '../../src/network/nodes/mesh-network.ts';
import { digestOf, type NodeTable } from '../../src/network/nodes/node-table.ts';
import { cniConfig } from '../../src/network/providers/multus/cni-config.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { type OperatorFixture, startOperatorFixture } from '../support/operator-fixture.ts';
import { forbiddenCalls } from '../support/rights.ts';

jest.setTimeout(60_000);

const AGENTS = 'envoy-initializer-node-agent';
const TABLE = 'configmap/envoy-initializer-nodes';

let fixture: OperatorFixture;
let refused: readonly string[];
const run = (command: string) => fixture.kubectl(...command.split(' '));
const ready = (name: string, field = 'reason') =>
  run(`get network ${name} -o jsonpath={.status.conditions[?(@.type=="Ready")].${field}}`);
const untilReady = (name: string, reason: string) =>
  run(
    `wait network/${name} --for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=${reason} --timeout=30s`,
  );

beforeAll(async () => {
  fixture = await startOperatorFixture({ auditLog: 'Metadata', args: [`--node-agent-namespace=${AGENTS}`] });
  for (const file of ['node-agent/namespace.yaml', 'multi-node/rbac.yaml']) {
    await run(`apply -f ${join(projectDirectory(), 'deploy/overlays', file)}`);
  }
  await run(`wait ${TABLE} -n envoy-initializer --for=create --timeout=30s`);
  // Before the rights were there.
  refused = await forbiddenCalls(fixture.controlPlane.auditLogPath);
  for (const [name, address] of [
    ['a', '192.0.2.1'],
    ['b', '192.0.2.2'],
  ] as const)
    await addNode(name, address);
});

afterAll(async () => {
  await fixture?.stop();
});

async function addNode(name: string, address: string): Promise<void> {
  await fixture.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const status = JSON.stringify({ status: { addresses: [{ type: 'InternalIP', address }] } });
  await fixture.kubectl('patch', 'node', name, '--subresource=status', '--type=merge', '-p', status);
}

async function addNetwork(name: string, cidr: string, gateway: string): Promise<void> {
  await fixture.apply({
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name, namespace: 'default' },
    spec: { cidr, gateway },
  });
}

async function table(): Promise<string> {
  return run(`get ${TABLE} -n envoy-initializer -o jsonpath={.data.nodes}`);
}

async function numbers(): Promise<Readonly<Record<string, number>>> {
  const entries = JSON.parse(await table()) as NodeTable;
  return Object.fromEntries(Object.entries(entries).map(([name, { number }]) => [name, number]));
}

async function untilNumbers(wanted: Readonly<Record<string, number>>): Promise<void> {
  await eventually(
    `the numbers are ${JSON.stringify(wanted)}`,
    async () => Object.entries(wanted).join() === Object.entries(await numbers()).join(),
  );
}

/** Writes what a node agent does when it has joined these Networks by the table of the moment. */
async function report(node: string, names: readonly string[], problem?: string): Promise<void> {
  const networks: Record<string, string> = {};
  for (const name of names) {
    const network = JSON.parse(await run(`get network ${name} -o json`)) as Network;
    networks[`default/${name}`] = meshNetworkOf(network, 1450)?.digest ?? '';
  }
  const said = { number: (await numbers())[node], table: digestOf(await table()), networks, problem };
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: node, namespace: AGENTS, labels: { 'samplecrd.k8s.io/node-report': '' } },
    data: { report: JSON.stringify(said) },
  });
}

test('each node has a number, and its addresses are told', async () => {
  await untilNumbers({ a: 1, b: 2 });
  await eventually('the address of b is told', async () => (await table()).includes('"192.0.2.2"'));
});

test('a Network is Ready when every node reports it joined, and says before which one does not', async () => {
  await addNetwork('blue', '10.20.0.0/24', '10.20.0.1');
  await untilReady('blue', 'NodesNotJoined');
  expect(await ready('blue', 'message')).toBe(
    'pods on these nodes would not be on the network: a (its node agent has not reported), b (its node agent has not reported)',
  );
  await report('a', ['blue']);
  await report('b', [], 'ip -batch - ended with 1');
  await eventually('b is said to have a problem', async () =>
    (await ready('blue', 'message')).endsWith('network: b (ip -batch - ended with 1)'),
  );
  await report('b', ['blue']);
  await untilReady('blue', 'Ready');
  expect(await run('get network blue -o jsonpath={.status.capacity.total}')).toBe(`${14 + 16 + 16}`);
});

test('two Networks have two VNIs, and one that is Ready does not wait for another', async () => {
  await addNetwork('green', 'fd00:1::/64', 'fd00:1::1');
  await untilReady('green', 'NodesNotJoined');
  const vniOf = async (name: string) => {
    const config = await run(`get net-attach-def ${name} -o jsonpath={.spec.config}`);
    return JSON.parse(config).plugins[0].vni as number;
  };
  expect(await vniOf('green')).not.toBe(await vniOf('blue'));
  expect(await ready('blue')).toBe('Ready');
  await report('a', ['blue', 'green']);
  await report('b', ['blue', 'green']);
  await untilReady('green', 'Ready');
});

test('what somebody does to the attachment is undone, and keeps its VNI', async () => {
  const config = () => run('get net-attach-def blue -o jsonpath={.spec.config}');
  const before = await config();
  const edited = cniConfig('default/blue', { cidr: '10.99.0.0/16', gateway: '10.99.0.1' });
  const patch = JSON.stringify({ spec: { config: edited }, metadata: { annotations: null } });
  await fixture.kubectl('patch', 'net-attach-def', 'blue', '--type=merge', '-p', patch);
  await eventually('it is as before', async () => (await config()) === before);
});

test('a node that comes makes Networks wait for it, unless no pod may come to it', async () => {
  await addNode('c', '192.0.2.3');
  await untilReady('blue', 'NodesNotJoined');
  await untilNumbers({ a: 1, b: 2, c: 3 });
  await report('a', ['blue', 'green']);
  await report('b', ['blue', 'green']);
  await eventually('c alone is missing', async () =>
    (await ready('blue', 'message')).endsWith('network: c (its node agent has not reported)'),
  );
  await run('cordon c');
  await untilReady('blue', 'Ready');
  await run('uncordon c');
  await untilReady('blue', 'NodesNotJoined');
  await run('delete node c');
  await untilNumbers({ a: 1, b: 2 });
  await report('a', ['blue', 'green']);
  await report('b', ['blue', 'green']);
  await untilReady('blue', 'Ready');
});

test('a range that is too small for the nodes names those that it has nothing for', async () => {
  await addNetwork('small', '10.30.0.0/30', '10.30.0.1');
  await untilReady('small', 'TooManyNodes');
  expect(await ready('small', 'message')).toBe(
    '10.30.0.0/30 has addresses for one node, but none for b: use a larger range or fewer nodes',
  );
  expect(await run('events --for network/small')).toContain('TooManyNodes');
});

test('a table that somebody removes comes again with the numbers that the agents go by', async () => {
  await run('delete node a');
  await untilNumbers({ b: 2 });
  await report('b', ['blue', 'green']);
  await run(`delete ${TABLE} -n envoy-initializer`);
  await run(`wait ${TABLE} -n envoy-initializer --for=create --timeout=30s`);
  // The report of a, whose Node is gone, would go with it.
  await untilNumbers({ b: 2 });
});

test('all of it is within the rights that the overlay gives', async () => {
  expect(await forbiddenCalls(fixture.controlPlane.auditLogPath)).toEqual(refused);
});
