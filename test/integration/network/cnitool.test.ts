import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { keyOf } from '../../../src/kube/api/object.ts';
import { installPlugins } from '../../../src/networks/agent/cni-plugins.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { cniConfig, FIRST_VNI } from '../../../src/networks/multus/cni-config.ts';
import { CNI_PLUGINS } from '../../env/cluster/requirements.ts';
import { searchPath } from '../../env/cluster/search-path.ts';
import { ensureGoProgram } from '../../env/go/go-program.ts';
import { pinOf } from '../../env/go/pins.ts';
import { type LabNode, labNodes, MeshLab, Space } from '../../support/cluster/mesh-lab.ts';
import { describeWithNode } from '../../support/jest/describe-with-cluster.ts';

jest.setTimeout(600_000);

const CNI = 'github.com/containernetworking/cni';
const PLUGINS = 'github.com/containernetworking/plugins';
const MISSING = 'this node has no CNI plugin static';

let lab: MeshLab;
let node: LabNode;
let network: Network;
let pod: Space;
let cnitool: string;

/** What a pod's interface could leave: devices and addresses on both sides, files of ours and of libcni. */
const traces = () =>
  Promise.all([
    node.sh(
      'ip -o link | cut -d: -f2 | sort; ip -o address | cut -d" " -f2-7; find /run/envoy-initializer /var/lib/cni ! -type d',
    ),
    pod.sh('ip -o link | cut -d: -f2 | sort; ip -o address | cut -d" " -f2-7'),
  ]);

/** Resolves to what went wrong, and to '' where all went well. */
async function call(command: string, version: string, plugins = version): Promise<string> {
  await writeFile(`${node.space.root}/run/cni/${version}.conflist`, conflist(version));
  const variables = [
    ...[`NETCONFPATH=/run/cni`, `CNI_PATH=/opt/cni/${plugins}`, 'CNI_IFNAME=net1', `PATH=${searchPath()}`],
    ...['CNI_ARGS=IgnoreUnknown=true;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u'],
    `CAP_ARGS=${JSON.stringify({ ips: ['10.20.0.1/24'], mac: '02:00:00:00:00:01' })}`,
  ];
  const { name } = JSON.parse(conflist(version));
  const args = [...variables, cnitool, command, name, `/proc/${pod.pid}/ns/net`];
  return node.space.programs.run('env', args).then(
    () => '',
    (error: Error) => error.message,
  );
}

/** As in the definition of the Network, and in a later version of CNI. */
function conflist(version: string): string {
  const list = JSON.parse(cniConfig(keyOf(network), 1430));
  return JSON.stringify({
    ...list,
    cniVersion: version,
    name: `${list.name}${version === '1.0.0' ? '' : '.later'}`,
  });
}

describeWithNode('cnitool, which calls plugins as runtimes do,', () => {
  beforeAll(async () => {
    const build = (name: string, source: string, pin = pinOf(PLUGINS)) =>
      ensureGoProgram({ name, package: source, pin }, process.env, process.stderr);
    cnitool = await build('cnitool', `${CNI}/cnitool`, pinOf(CNI));
    lab = await MeshLab.start();
    node = await lab.addNode('a', 1);
    const directory = (version: string) => `${node.space.root}/opt/cni/${version}`;
    await installPlugins({ directory: directory('1.0.0'), source: CNI_PLUGINS });
    const later = {
      bridge: await build('cni-bridge', `${PLUGINS}/plugins/main/bridge`),
      static: await build('cni-static', `${PLUGINS}/plugins/ipam/static`),
    };
    await mkdir(directory('1.1.0'));
    for (const [name, path] of Object.entries(later)) await cp(path, join(directory('1.1.0'), name));
    for (const version of ['1.0.0', '1.1.0']) {
      await installPlugins({ directory: directory(version), source: CNI_PLUGINS });
      await cp(directory(version), directory(`${version}-without-static`), { recursive: true });
      await node.sh(`rm /opt/cni/${version}-without-static/static; mkdir -p /run/cni /var/lib/cni`);
    }
    network = lab.tell('dual', {
      ...{ cidr: '10.20.0.0/24', gateway: '10.20.0.254', vni: FIRST_VNI, mtu: 1430 },
      nodes: labNodes({ a: 1 }),
    });
    await lab.sync();
    pod = await Space.start();
  });

  afterAll(async () => {
    await pod?.stop();
    await lab?.stop();
  });

  const SEQUENCES: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    [
      'in order',
      [
        ['status', ''],
        ['add', ''],
        ['check', ''],
        ['del', ''],
      ],
    ],
    [
      'twice',
      [
        ['add', ''],
        ['add', 'already exists'],
        ['del', ''],
        ['del', ''],
      ],
    ],
    [
      'in the wrong order',
      [
        ['del', ''],
        ['gc', ''],
        ['check', 'prevResult missing'],
        ['add', ''],
        ['del', ''],
      ],
    ],
    [
      'by garbage collection',
      [
        ['add', ''],
        ['check', ''],
        ['gc', ''],
        ['gc', ''],
        ['del', ''],
      ],
    ],
  ];

  test.each(
    ['1.0.0', '1.1.0'].flatMap((version) => SEQUENCES.map(([how, calls]) => [version, how, calls] as const)),
  )('leaves nothing behind: CNI %s, %s', async (version, _, calls) => {
    const before = await traces();
    for (const [command, said] of calls) {
      const answer = await call(command, version);
      expect([command, answer]).toEqual([command, said === '' ? '' : expect.stringContaining(said)]);
    }
    expect(await traces()).toEqual(before);
  });

  test.each(['1.0.0', '1.1.0'])(
    'leaves nothing behind on a node without a plugin: CNI %s',
    async (version) => {
      const before = await traces();
      const without = `${version}-without-static`;
      expect(await call('add', version, without)).toContain(MISSING);
      expect(await call('del', version, without)).toBe('');
      expect(await traces()).toEqual(before);
      expect(await call('add', version)).toBe('');
      expect(await call('del', version, without)).toBe('');
      expect(await call('del', version)).toBe('');
      expect(await traces()).toEqual(before);
    },
  );
});
