import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Network } from '../../../src/network/api/types.ts';
import { ovnProblems } from '../../../src/node-agent/ovn-node.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ovn-node-'));
});
afterEach(() => rm(root, { recursive: true }));

const network = (name: string, provider: 'multus' | 'neutron', node: string): Network => ({
  metadata: { namespace: 'red', name },
  spec: { cidr: '10.0.0.0/24', gateway: '10.0.0.1' },
  status: { provider, nodes: [{ name: node, address: '192.0.2.1' }] },
});
const problems = () =>
  ovnProblems(
    [
      network('blue', 'neutron', 'here'),
      network('grey', 'multus', 'here'),
      network('far', 'neutron', 'there'),
    ],
    { node: 'here', plugins: root, interfaces: root },
  );

test('a Network of Neutron with pods on the node is told what the node lacks', async () => {
  expect(await problems()).toEqual({
    'red/blue': 'it has no CNI plugin ovs: install ovs-cni, and no bridge br-int: start ovn-controller',
  });
  await symlink('/only/on/the/node', join(root, 'ovs'));
  expect(await problems()).toEqual({ 'red/blue': 'it has no bridge br-int: start ovn-controller' });
  await writeFile(join(root, 'br-int'), '');
  expect(await problems()).toEqual({});
});
