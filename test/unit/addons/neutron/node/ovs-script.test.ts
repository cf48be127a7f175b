import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { OvnNode } from '../../../../../src/addons/neutron/node/ovn-node.ts';

const PORT = 'f62a3ac7-4b68-458b-9a18-6fc4cbbc5ba9';
const CONFIG = {
  ...{ cniVersion: '1.0.0', name: 'default.blue', type: 'envoy-initializer-ovs', bridge: 'br-int' },
  runtimeConfig: { ips: ['10.40.0.7/24'], mac: 'fa:16:3e:ad:3e:2e' },
};
const { 'envoy-initializer-ovs': script = '' } = new OvnNode({
  ...{ node: '', root: '', plugins: '', nowMs: () => 0 },
}).scripts;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ovs-script-'));
  await writeFile(join(directory, 'envoy-initializer-ovs'), script, { mode: 0o755 });
});
afterEach(() => rm(directory, { recursive: true }));

/** Stands for ovs-cni: shows what it gets. */
const installOvs = () =>
  writeFile(join(directory, 'ovs'), '#!/bin/sh\necho "$CNI_ARGS"\ncat\n', { mode: 0o755 });

function run(config: object, command: string) {
  const env = { PATH: process.env.PATH, CNI_COMMAND: command, CNI_ARGS: 'K8S_POD_NAME=p' };
  return spawnSync(join(directory, 'envoy-initializer-ovs'), { env, input: JSON.stringify(config) });
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

test('it asks to be called again while the pod has no port, but always removes what is there', async () => {
  await installOvs();
  const { status, stdout } = run(CONFIG, 'ADD');
  expect(status).toBe(1);
  expect(JSON.parse(stdout.toString())).toMatchObject({ code: 11, msg: expect.stringContaining('no port') });
  expect(run(CONFIG, 'DEL').status).toBe(0);
});

test('it says what a node lacks', () => {
  const { status, stdout } = run(CONFIG, 'ADD');
  expect(status).toBe(1);
  expect(JSON.parse(stdout.toString()).msg).toBe('this node has no CNI plugin ovs: install ovs-cni');
});
