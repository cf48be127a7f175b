import { describe, expect, test } from '@jest/globals';
import { parseReport } from '../../../../src/networks/nodes/node-report.ts';
import { type KnownNode, nodesInUse } from '../../../../src/networks/nodes/nodes-in-use.ts';
import { newNetwork } from '../networks.ts';

const key = 'default/example-network';
const network = newNetwork();

function known(internalIp: string | undefined, said: object = {}): KnownNode {
  const report = parseReport(JSON.stringify({ version: 2, ranges: [], problems: {}, ...said }));
  return { internalIp, report };
}

function inUse(nodes: Readonly<Record<string, KnownNode>>, of = network) {
  const none: KnownNode = { internalIp: undefined, report: undefined };
  return nodesInUse(of, Object.keys(nodes), (name) => nodes[name] ?? none);
}

describe('the nodes', () => {
  test('are sorted by name, with the address that the agent reports, else the InternalIP', () => {
    const { nodes } = inUse({
      b: known('192.0.2.2', { underlay: { address: '198.51.100.2', mtu: 1500 } }),
      a: known('192.0.2.1'),
    });
    expect(nodes).toEqual([
      { name: 'a', address: '192.0.2.1' },
      { name: 'b', address: '198.51.100.2' },
    ]);
  });

  test('keep their address while their pods are there, also without a Node', () => {
    const before = newNetwork({ status: { nodes: [{ name: 'a', address: '192.0.2.1' }] } });
    expect(inUse({ a: known(undefined) }, before)).toMatchObject({
      nodes: [{ name: 'a', address: '192.0.2.1' }],
      condition: { status: 'True' },
    });
  });

  test('without any address are left out, and named in the condition', () => {
    expect(inUse({ a: known(undefined) })).toMatchObject({
      nodes: [],
      condition: { reason: 'NodeFailed', message: expect.stringContaining('a (it has no InternalIP)') },
    });
  });

  test('5,000 of them take at most 60 bytes each', () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `node-${i}.example`);
    const { nodes } = nodesInUse(network, names, () => known('192.168.100.100'));
    expect(JSON.stringify(nodes).length).toBeLessThan(60 * 5_000);
  });
});

describe('the condition', () => {
  test('says without agents what to apply', () => {
    const { condition } = nodesInUse(network, [], undefined);
    expect(condition).toMatchObject({ status: 'False', reason: 'NoAgent' });
    expect(condition.message).toContain('apply deploy/overlays/');
  });

  test('says why a report does not count', () => {
    const reportProblem = 'its node agent is of an earlier release';
    const old: KnownNode = { internalIp: '192.0.2.1', report: undefined, reportProblem };
    const { condition, areCurrent } = inUse({ a: old, b: known('192.0.2.2') });
    expect(condition).toMatchObject({ reason: 'NoAgent' });
    expect(condition.message).toMatch(/: a \(its node agent is of an earlier release\)$/);
    const silent: KnownNode = { internalIp: '192.0.2.1', report: undefined };
    expect(inUse({ a: silent }).condition.message).toMatch(/: a \(its node agent has not reported\)$/);
    expect(areCurrent).toBe(false);
  });

  test('ignores problems of other Networks, and inherited properties', () => {
    const problems = { 'default/other': 'no' };
    expect(inUse({ a: known('192.0.2.1', { problems }) }).condition).toMatchObject({ status: 'True' });
    const odd = newNetwork({ name: 'constructor' });
    expect(inUse({ a: known('192.0.2.1') }, odd).condition).toMatchObject({ status: 'True' });
  });

  test('has the words of an agent, cut to a readable length', () => {
    const { condition } = inUse({ a: known('192.0.2.1', { problems: { [key]: 'x'.repeat(10_000) } }) });
    expect(condition.reason).toBe('NodeFailed');
    expect(condition.message.length).toBeLessThan(400);
  });

  test('names nodes without Multus, and pods without their interface', () => {
    const bare = known('192.0.2.1', { withoutMultus: 'its first CNI configuration is 10-a.conf' });
    const { condition } = inUse({ a: bare, b: known('192.0.2.2') });
    expect(condition).toMatchObject({ status: 'False', reason: 'NoMultus' });
    expect(condition.message).toMatch(/: a \(its first CNI configuration is 10-a.conf\)$/);
    const pods = new Map([['b', ['default/r', 'default/q', 'default/p', 'default/s']]]);
    const missing = nodesInUse(network, ['b'], () => known('192.0.2.2'), pods).condition;
    expect(missing).toMatchObject({ status: 'False', reason: 'InterfaceMissing' });
    expect(missing.message).toMatch(/: b \(.* interface: default\/p, default\/q, default\/r and 1 more\)$/);
    expect(nodesInUse(network, ['b'], undefined, pods).condition.reason).toBe('InterfaceMissing');
  });

  test('names three nodes and counts the others', () => {
    const all = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e'].map((name) => [name, known('192.0.2.1', { problems: { [key]: 'no' } })]),
    );
    expect(inUse(all).condition.message).toMatch(/: a \(no\), b \(no\), c \(no\) and 2 more$/);
  });
});
