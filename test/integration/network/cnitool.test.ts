import { writeFile } from 'node:fs/promises';
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
/** Calls of cnitool, each with what it fails with; `-`: on a node that has lost the plugin static. */
const CALLS = {
  'in order': 'status, add, check, del',
  twice: 'add, add: already exists, del, del',
  'in the wrong order': 'del, gc, check: prevResult missing, add, del',
  'and collects garbage': 'add, check, gc, gc, del',
  'without a plugin': '-add: this node has no CNI plugin static, -del, add, -del, del',
};

let lab: MeshLab;
let node: LabNode;
let network: Network;
let pod: Space;
let cnitool: string;

/** What an interface could leave: devices and addresses on both sides, files of ours and of libcni. */
function traces() {
  const links = 'ip -o link | cut -d: -f2 | sort; ip -o address | cut -d" " -f2-7';
  return Promise.all([
    pod.sh(links),
    node.sh(`${links}; find /run/envoy-initializer /var/lib/cni ! -type d`),
  ]);
}

/** Resolves to what went wrong, and to '' where all went well. */
async function call(command: string, version: string, directory: string): Promise<string> {
  // As in the definition of the Network, and with a later version of CNI.
  const list = { ...JSON.parse(cniConfig(keyOf(network), 1430)), cniVersion: version };
  await writeFile(`${node.space.root}/run/cni/the.conflist`, JSON.stringify(list));
  const variables = [
    ...['NETCONFPATH=/run/cni', `CNI_PATH=/opt/cni/${directory}`, 'CNI_IFNAME=net1', `PATH=${searchPath()}`],
    'CNI_ARGS=IgnoreUnknown=true;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u',
    `CAP_ARGS=${JSON.stringify({ ips: ['10.20.0.1/24'], mac: '02:00:00:00:00:01' })}`,
  ];
  const args = [...variables, cnitool, command, list.name, `/proc/${pod.pid}/ns/net`];
  const said = (error: Error) => error.message;
  return node.space.run('env', args).then(() => '', said);
}

describeWithNode('cnitool', () => {
  beforeAll(async () => {
    const build = (name: string, source: string, pin = pinOf(PLUGINS)) =>
      ensureGoProgram({ name, package: source, pin }, process.env, process.stderr);
    cnitool = await build('cnitool', `${CNI}/cnitool`, pinOf(CNI));
    const bridge = await build('cni-bridge', `${PLUGINS}/plugins/main/bridge`);
    const ipam = await build('cni-static', `${PLUGINS}/plugins/ipam/static`);
    lab = await MeshLab.start();
    node = await lab.addNode('a', 1);
    // Those of Debian speak CNI 1.0.0.
    await node.sh(
      `mkdir -p /run/cni /var/lib/cni /opt/cni/1.1.0 && cp ${bridge} /opt/cni/1.1.0/bridge && cp ${ipam} /opt/cni/1.1.0/static`,
    );
    for (const version of ['1.0.0', '1.1.0']) {
      const directory = `/opt/cni/${version}`;
      await installPlugins({ directory: `${node.space.root}${directory}`, source: CNI_PLUGINS });
      await node.sh(`cp -r ${directory} ${directory}-lost && rm ${directory}-lost/static`);
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

  test.each(
    ['1.0.0', '1.1.0'].flatMap((version) =>
      Object.entries(CALLS).map(([how, calls]) => ({ version, how, calls })),
    ),
  )(
    'the plugins leave nothing behind when cnitool calls them: CNI $version, $how',
    async ({ version, calls }) => {
      const before = await traces();
      for (const each of calls.split(', ')) {
        const [, lost, command = '', error] = /^(-?)(\w+)(?:: (.*))?$/.exec(each) ?? [];
        const answer = await call(command, version, lost ? `${version}-lost` : version);
        expect({ each, answer }).toEqual({ each, answer: error ? expect.stringContaining(error) : '' });
      }
      expect(await traces()).toEqual(before);
    },
  );
});
