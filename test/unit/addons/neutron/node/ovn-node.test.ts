import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ovnNode } from '../../../../../src/addons/neutron/node/ovn-node.ts';
import type { AgentNetwork } from '../../../../../src/networks/agent/desired.ts';
import type { NodePart } from '../../../../../src/networks/agent/node-agent.ts';

let root: string;
let nowMs: number;
let node: NodePart;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ovn-node-'));
  nowMs = 0;
  node = ovnNode({ root, plugins: join(root, 'bin'), nowMs: () => nowMs });
});
afterEach(() => rm(root, { recursive: true }));

const network = (name: string, provider: 'multus' | 'neutron'): AgentNetwork => ({
  ...{ metadata: { namespace: 'red', name }, bridge: name, network: undefined },
  ...{ provider, isHere: true },
});
const problems = () => node.problems([network('blue', 'neutron'), network('grey', 'multus')]);
const has = async (path: string) => {
  await mkdir(join(root, dirname(path)), { recursive: true });
  await symlink('/only/on/the/node', join(root, path));
};
const PLUGIN = 'bin/ovs';
const BRIDGE = 'proc/sys/net/ipv4/conf/br-int';

test('a Network of Neutron with pods on a node has the problem that the node lacks something', async () => {
  expect(await problems()).toEqual({
    'red/blue': 'it lacks CNI plugin ovs (install ovs-cni) and bridge br-int (start ovn-controller)',
  });
  await has(PLUGIN);
  expect(await problems()).toEqual({ 'red/blue': 'it lacks bridge br-int (start ovn-controller)' });
  await has(BRIDGE);
  expect(await problems()).toEqual({});
});

describe('the database of Open vSwitch', () => {
  let server: Server;
  /** What the database answers, in these parts. */
  let answer: readonly string[];

  beforeEach(async () => {
    await has(PLUGIN);
    await has(BRIDGE);
    await mkdir(join(root, 'run/openvswitch'), { recursive: true });
    server = createServer((socket) => {
      socket.once('data', async () => {
        for (const part of answer) await new Promise((resolve) => socket.write(part, resolve));
      });
    });
    await new Promise<void>((resolve) => server.listen(join(root, 'run/openvswitch/db.sock'), resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const row = (name: string, ids: Readonly<Record<string, string>>) => ({
    name,
    external_ids: ['map', Object.entries(ids)],
  });
  const rows = (...all: readonly object[]) => [
    JSON.stringify({ id: 0, error: null, result: [{ rows: all }] }),
  ];

  test('a port that ovn-controller does not connect for ten seconds is a problem of the node', async () => {
    const there = row('vethaa', { 'iface-id': 'port-1', 'ovn-installed': 'true' });
    answer = rows(
      there,
      row('vethbb', { 'iface-id': 'port-2' }),
      row('tap1', { 'iface-id': 'vm' }),
      row('br-int', {}),
    );
    expect(await problems()).toEqual({});
    nowMs = 9_999;
    expect(await problems()).toEqual({});
    nowMs = 10_000;
    expect(await problems()).toEqual({
      'red/blue':
        'its ovn-controller does not connect ports port-2: see the log of ovn-controller, and external-ids:ovn-remote',
    });
    answer = rows(there);
    expect(await problems()).toEqual({});
    answer = rows(row('vethbb', { 'iface-id': 'port-2' }));
    expect(await problems()).toEqual({});
  });

  test.each([
    ['{"id":0,"result":null,"error":"no"}', 'expected a result'],
    ['[]', 'ended without an answer'],
  ])('the answer %s of Open vSwitch is a problem of the node', async (text, why) => {
    answer = [text];
    if (text === '[]') server.on('connection', (socket) => socket.once('data', () => socket.end()));
    expect(Object.values(await problems())).toEqual([expect.stringContaining(why)]);
  });

  test('a database of Open vSwitch that is away is a problem of the node', async () => {
    await rm(join(root, 'run/openvswitch/db.sock'));
    expect(Object.values(await problems())).toEqual([
      expect.stringMatching(/^cannot query Open vSwitch: .*ENOENT/),
    ]);
  });
});

const PORT = 'f62a3ac7-4b68-458b-9a18-6fc4cbbc5ba9';
const CONFIG = {
  ...{ cniVersion: '1.0.0', name: 'default.blue', type: 'envoy-initializer-ovs', bridge: 'br-int' },
  runtimeConfig: { ips: ['10.40.0.7/24'], mac: 'fa:16:3e:ad:3e:2e' },
};
const { 'envoy-initializer-ovs': script = '' } = ovnNode({ root: '', plugins: '', nowMs: () => 0 }).scripts;

beforeEach(() => writeFile(join(root, 'envoy-initializer-ovs'), script, { mode: 0o755 }));

/** Stands for ovs-cni: shows what it gets. */
const installOvs = () => writeFile(join(root, 'ovs'), '#!/bin/sh\necho "$CNI_ARGS"\ncat\n', { mode: 0o755 });

function run(config: object, command: string) {
  const env = { PATH: process.env.PATH, CNI_COMMAND: command, CNI_ARGS: 'K8S_POD_NAME=p' };
  return spawnSync(join(root, 'envoy-initializer-ovs'), { env, input: JSON.stringify(config) });
}

test('the plugin calls ovs with the port and the MAC of the pod, and the same configuration', async () => {
  await installOvs();
  const config = { ...CONFIG, args: { cni: { OvnPort: PORT } } };
  const { status, stdout } = run(config, 'ADD');
  expect(status).toBe(0);
  expect(stdout.toString()).toBe(
    `K8S_POD_NAME=p;IgnoreUnknown=1;OvnPort=${PORT};MAC=fa:16:3e:ad:3e:2e\n${JSON.stringify(config)}`,
  );
});

test('the plugin asks to be called again while the pod has no port, but always removes what is there', async () => {
  await installOvs();
  const { status, stdout } = run(CONFIG, 'ADD');
  expect(status).toBe(1);
  expect(JSON.parse(stdout.toString())).toMatchObject({ code: 11, msg: expect.stringContaining('no port') });
  expect(run(CONFIG, 'DEL').status).toBe(0);
});

test('the plugin says what a node lacks', () => {
  const { status, stdout } = run(CONFIG, 'ADD');
  expect(status).toBe(1);
  expect(JSON.parse(stdout.toString()).msg).toBe('this node has no CNI plugin ovs: install ovs-cni');
});
