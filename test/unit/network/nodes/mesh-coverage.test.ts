import { describe, expect, test } from '@jest/globals';
import { NODES } from '../../../../src/network/ipam/cluster-objects.ts';
import { meshCoverage } from '../../../../src/network/nodes/mesh-coverage.ts';
import { NODE_REPORTS, NODE_TABLES } from '../../../../src/network/nodes/node-objects.ts';
import { nextTable } from '../../../../src/network/nodes/node-table.ts';
import {
  FIRST_VNI,
  type MeshNetwork,
  meshNetwork,
} from '../../../../src/network/providers/multus/cni-config.ts';

function network(cidr = '10.20.0.0/24'): MeshNetwork {
  const joined = meshNetwork('default/blue', { cidr, gateway: '10.20.0.1' }, { vni: FIRST_VNI, mtu: 1450 });
  if (!joined) throw new Error('this is not what agents join');
  return joined;
}

interface Stage {
  readonly nodes?: readonly string[];
  readonly closed?: readonly string[];
  readonly silent?: readonly string[];
  readonly behind?: readonly string[];
  readonly report?: object;
  readonly addresses?: readonly string[];
  readonly hasTable?: boolean;
}

function stage({
  nodes = ['a', 'b'],
  closed = [],
  silent = [],
  behind = [],
  report = {},
  addresses = ['192.0.2.1'],
  hasTable = true,
}: Stage = {}) {
  const all = nodes.map((name) =>
    NODES.decode({ metadata: { name }, spec: { unschedulable: closed.includes(name) } }),
  );
  const entries = nextTable(
    {},
    nodes.map((name) => ({ name, uid: '', addresses })),
    () => false,
  );
  const table = NODE_TABLES.decode({ metadata: { name: 'nodes' }, data: { nodes: JSON.stringify(entries) } });
  const { key, digest } = network();
  const reportOf = (name: string) => {
    if (silent.includes(name)) return undefined;
    const said = {
      number: entries[name]?.number,
      table: behind.includes(name) ? 'older' : table.digest,
      networks: { [key]: digest },
      ...report,
    };
    return NODE_REPORTS.decode({ metadata: { name }, data: { report: JSON.stringify(said) } });
  };
  return meshCoverage({
    nodes: { list: () => all, size: all.length },
    table: () => (hasTable ? table : undefined),
    reportOf,
  });
}

const lots = Array.from({ length: 17 }, (_, n) => `n${String(n).padStart(2, '0')}`);

describe('meshCoverage', () => {
  test('has no limit when all nodes have reported the network', () => {
    expect(stage().limitOf(network())).toBeUndefined();
  });

  test.each<[string, Stage, string]>([
    ['the table does not exist', { hasTable: false }, 'a (it has no number yet), b (it has no number yet)'],
    ['an agent has not reported', { silent: ['b'] }, 'b (its node agent has not reported)'],
    ['an agent uses an older table', { behind: ['a'] }, 'a (its node agent is not done yet)'],
    ['an agent has another number', { report: { number: 9 } }, 'a (its node agent is not done yet), b (its'],
    [
      'an agent has an older configuration',
      { report: { networks: { 'default/blue': 'old' } } },
      'a (its node',
    ],
    ['an agent has a problem', { report: { networks: {}, problem: 'ip: no' } }, 'a (ip: no), b (ip: no)'],
    [
      'many are missing',
      { nodes: lots.slice(0, 6), silent: lots },
      'n02 (its node agent has not reported) and 3 more',
    ],
  ])('returns NodesNotJoined while %s', (_, given, message) => {
    const limit = stage(given).limitOf(network());
    expect(limit).toMatchObject({ reason: 'NodesNotJoined' });
    expect(limit?.message).toContain(message);
  });

  test('ignores nodes that are not schedulable', () => {
    expect(stage({ closed: ['b'], silent: ['b'] }).limitOf(network())).toBeUndefined();
  });

  test('names the nodes for which the range is too small', () => {
    expect(stage({ nodes: lots }).limitOf(network())).toEqual({
      reason: 'TooManyNodes',
      message:
        '10.20.0.0/24 has addresses for 15 nodes, but none for n15, n16: use a larger range or fewer nodes',
    });
  });

  test('counts the addresses of all nodes and those that pods may choose', () => {
    expect(stage().mesh?.capacityOf(network())).toBe(14 + 2 * 16);
    expect(stage({ nodes: lots }).mesh?.capacityOf(network())).toBe(253);
  });

  test('leaves room for the VXLAN header in the MTU', () => {
    expect(stage().mesh?.mtu()).toBe(1450);
    expect(stage({ addresses: ['2001:db8::1'] }).mesh?.mtu()).toBe(1430);
  });
});

test('returns SingleNodeOnly for a network that is separate on each node', () => {
  expect(stage().limitOf(undefined)).toMatchObject({ reason: 'SingleNodeOnly' });
  expect(stage({ nodes: ['a'] }).limitOf(undefined)).toBeUndefined();
});

test('a node is not schedulable while it is cordoned, not ready or unreachable', () => {
  const isOpen = (spec: object) => NODES.decode({ metadata: { name: 'a' }, spec }).isOpen;
  const taint = (key: string) => ({ taints: [{ key, effect: 'NoSchedule' }] });
  expect([{}, taint('other')].map(isOpen)).toEqual([true, true]);
  const away = [
    { unschedulable: true },
    taint('node.kubernetes.io/not-ready'),
    taint('node.kubernetes.io/unreachable'),
  ];
  expect(away.map(isOpen)).toEqual([false, false, false]);
});
