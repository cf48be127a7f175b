import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { NetworkSpec } from '../../../src/networks/api/types.ts';
import { describeWithNeutron } from '../../support/jest/describe-with-neutron.ts';
import { NeutronLab, nameOf } from '../../support/neutron/neutron-lab.ts';
import type { Mishap } from '../../support/neutron/openstack-proxy.ts';

jest.setTimeout(300_000);

const { signal } = new AbortController();

describeWithNeutron('a real Neutron', (environment) => {
  let lab: NeutronLab;

  beforeAll(async () => {
    lab = await NeutronLab.start(environment);
  });
  afterEach(async () => {
    lab.proxy.heal();
    await lab.clearAll();
  });
  afterAll(() => lab?.stop());

  test('a Network becomes a network with a subnet in Neutron, marked as ours in the call that creates it', async () => {
    const network = lab.newNetwork({ mtu: 1400 });
    const outcome = await lab.ensure(network);
    const { networks, subnets } = await lab.real(network);
    expect(outcome).toEqual({
      kind: 'ready',
      change: 'created',
      capacity: 253,
      externalID: networks[0]?.id,
    });
    expect(networks).toMatchObject([
      { mtu: 1400, tags: ['envoy-initializer', `samplecrd-uid=${network.metadata.uid}`] },
    ]);
    expect(subnets).toMatchObject([
      { cidr: '10.5.0.0/24', gateway: '10.5.0.1', pools: [{ start: '10.5.0.2', end: '10.5.0.254' }] },
    ]);
    const posts = lab.proxy.passed.filter(({ method }) => method === 'POST');
    expect(posts.map(({ url }) => url)).toEqual(['/v2.0/networks', '/v2.0/subnets']);
  });

  test('a Network that is as it should be takes no request to Neutron but the lists that all share', async () => {
    const network = lab.newNetwork();
    const operator = lab.operator();
    await lab.ensure(network, operator);
    lab.proxy.passed.length = 0;
    expect(await lab.ensure(network, operator)).toMatchObject({ kind: 'ready', change: 'none' });
    expect(await operator.actual(network, signal)).toEqual({ cidr: '10.5.0.0/24', gateway: '10.5.0.1' });
    expect(lab.proxy.passed).toEqual([]);
  });

  const v4 = { cidr: '10.5.0.0/24', gateway: '10.5.0.1' };
  test.each<[string, Partial<NetworkSpec>, Partial<NetworkSpec>, number]>([
    ['changes its gateway', v4, { ...v4, gateway: '10.5.0.9' }, 253],
    ['changes its gateway to the last address', v4, { ...v4, gateway: '10.5.0.254' }, 253],
    ['shrinks', v4, { cidr: '10.5.0.0/26', gateway: '10.5.0.1' }, 61],
    ['grows', v4, { cidr: '10.5.0.0/22', gateway: '10.5.3.1' }, 1_021],
    ['moves', v4, { cidr: '10.6.0.0/24', gateway: '10.6.0.1' }, 253],
    ['changes its MTU', v4, { ...v4, mtu: 1300 }, 253],
    ['becomes IPv6', v4, { cidr: 'fd00:5::/112', gateway: 'fd00:5::1' }, 65_534],
    ['of one address for a pod', v4, { cidr: '10.5.0.0/30', gateway: '10.5.0.1' }, 1],
  ])('a Network %s in place in Neutron', async (_, before, after, capacity) => {
    const network = lab.newNetwork(before);
    const created = await lab.ensure(network);
    const edited = { ...network, spec: { ...network.spec, ...after }, status: network.spec };
    const changed = await lab.ensure(edited);
    const { cidr, gateway } = edited.spec;
    expect(changed).toEqual({ ...created, change: 'updated', capacity });
    expect(await lab.shapes(network)).toEqual([`${cidr} ${gateway}`]);
    expect((await lab.real(network)).networks[0]?.mtu).toBe(after.mtu ?? 1500);
    expect(await lab.operator().actual(edited, signal)).toEqual(edited.spec);
  });

  test('a Network that is deleted takes its network in Neutron along, and again is content with nothing', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    expect(await lab.remove(network)).toEqual({ kind: 'gone' });
    expect(await lab.real(network)).toEqual({ networks: [], subnets: [] });
    expect(await lab.remove(network)).toEqual({ kind: 'gone' });
  });

  test('a Network that is retained leaves its network in Neutron behind as nobody’s', async () => {
    const network = lab.newNetwork({ deletionPolicy: 'Retain' });
    await lab.ensure(network);
    expect((await lab.real(network)).networks[0]?.tags).toContain('samplecrd-retain');
    expect(await lab.remove(network, lab.operator(), true)).toEqual({ kind: 'gone' });
    const { networks, subnets } = await lab.real(network);
    expect(networks).toMatchObject([{ description: '', tags: [] }]);
    expect(subnets).toMatchObject([{ description: '', cidr: '10.5.0.0/24' }]);
    expect(await lab.operator().actual(network, signal)).toBeUndefined();
  });

  test('ports in Neutron keep a network, and are named', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const port = await lab.createPort(network, { name: 'vm-1', device_owner: 'compute:nova' });
    expect(await lab.remove(network)).toMatchObject({
      kind: 'blocked',
      message: `waiting for ports on the network in Neutron: ${port} (vm-1, compute:nova)`,
    });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
    expect(await lab.operator().usage(network, signal)).toEqual({ pods: [], allocated: 1 });
    await lab.call('DELETE', `/ports/${port}`);
    expect(await lab.remove(network)).toEqual({ kind: 'gone' });
  });

  test('ports of Neutron itself are in nobody’s way', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    await lab.createPort(network, { device_owner: 'network:dhcp' });
    expect(await lab.remove(network)).toEqual({ kind: 'gone' });
  });

  test('ports in Neutron let the gateway of a network change, but not the range', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const port = await lab.createPort(network);
    const regated = { ...network, spec: { ...network.spec, gateway: '10.5.0.200' }, status: network.spec };
    expect(await lab.ensure(regated)).toMatchObject({ kind: 'ready', change: 'updated' });
    const moved = { ...network, spec: { cidr: '10.7.0.0/24', gateway: '10.7.0.1' }, status: regated.spec };
    expect(await lab.ensure(moved)).toMatchObject({
      kind: 'notReady',
      reason: 'InUse',
      message: `10.5.0.0/24 stays until these ports are gone: ${port}`,
      keepsKnown: true,
    });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.200']);
    await lab.call('DELETE', `/ports/${port}`);
    expect(await lab.ensure(moved)).toMatchObject({ kind: 'ready', change: 'updated' });
    expect(await lab.shapes(network)).toEqual(['10.7.0.0/24 10.7.0.1']);
  });

  test('ports in Neutron that have the address keep a gateway from it, which Neutron would not', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const port = await lab.createPort(network, { fixed_ips: [{ ip_address: '10.5.0.77' }] });
    const edited = { ...network, spec: { ...network.spec, gateway: '10.5.0.77' } };
    expect(await lab.ensure(edited)).toMatchObject({
      reason: 'InUse',
      message: `a port has the gateway address 10.5.0.77: delete it: ${port}`,
    });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('a network in Neutron of the same name is none of ours, and is never touched', async () => {
    const network = lab.newNetwork();
    const name = nameOf(network);
    const { network: theirs } = await lab.call('POST', '/networks', { network: { name } });
    await lab.call('POST', '/subnets', {
      subnet: { network_id: theirs?.id, cidr: '10.5.0.0/24', ip_version: 4 },
    });
    expect(await lab.ensure(network)).toMatchObject({ change: 'created' });
    expect((await lab.real(network)).networks).toHaveLength(2);
    expect(await lab.remove(network)).toEqual({ kind: 'gone' });
    expect((await lab.real(network)).networks.map(({ id }) => id)).toEqual([theirs?.id]);
  });

  test('another cluster’s Network of the same key has a network of its own in Neutron', async () => {
    const network = lab.newNetwork();
    const other = { ...network, metadata: { ...network.metadata, uid: 'another-uid' } };
    await lab.ensure(network);
    await lab.ensure(other, lab.operator({ cluster: 'another' }));
    expect(await lab.shapes(network)).toHaveLength(2);
    await lab.remove(other, lab.operator({ cluster: 'another' }));
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test.each<[string, string, object]>([
    ['the name', 'networks', { network: { name: 'renamed' } }],
    ['the mark', 'networks', { network: { description: 'mine now' } }],
    ['the MTU', 'networks', { network: { mtu: 1000 } }],
    ['the gateway', 'subnets', { subnet: { gateway_ip: null } }],
    ['the mark of the subnet', 'subnets', { subnet: { description: '' } }],
  ])('%s in Neutron that somebody changed is set right, on the same network', async (_, kind, change) => {
    const network = lab.newNetwork({ mtu: 1400 });
    await lab.ensure(network);
    const { networks, subnets } = await lab.real(network);
    await lab.call('PUT', `/${kind}/${(kind === 'networks' ? networks : subnets)[0]?.id}`, change);
    const known = { ...network, status: network.spec };
    expect(await lab.ensure(known)).toMatchObject({ change: 'restored', externalID: networks[0]?.id });
    const after = await lab.real(network);
    expect(after.networks).toMatchObject([{ mtu: 1400, description: networks[0]?.description }]);
    expect(after.subnets).toMatchObject([{ gateway: '10.5.0.1', description: subnets[0]?.description }]);
  });

  test('a network in Neutron that somebody deleted comes back', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    await lab.call('DELETE', `/networks/${(await lab.real(network)).networks[0]?.id}`);
    expect(await lab.ensure({ ...network, status: network.spec })).toMatchObject({ change: 'restored' });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('tags and subnets of others in Neutron stay', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const [found] = (await lab.real(network)).networks;
    await lab.call('PUT', `/networks/${found?.id}/tags/theirs`);
    await lab.call('POST', '/subnets', {
      subnet: { network_id: found?.id, cidr: 'fd00:99::/64', ip_version: 6, name: nameOf(network) },
    });
    const edited = { ...network, spec: { cidr: '10.8.0.0/24', gateway: '10.8.0.1' } };
    await lab.ensure(edited);
    const { networks, subnets } = await lab.real(network);
    expect(networks[0]?.tags).toContain('theirs');
    expect(subnets.map(({ cidr }) => cidr).sort()).toEqual(['10.8.0.0/24', 'fd00:99::/64']);
  });

  test('two operators that create at once end with one network in Neutron', async () => {
    const network = lab.newNetwork();
    const operators = [lab.operator(), lab.operator(), lab.operator()];
    await Promise.allSettled(operators.map((operator) => lab.ensure(network, operator)));
    for (const operator of operators) await lab.ensure(network, operator);
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('two operators keep of two networks in Neutron the one that is used', async () => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const { networks } = await lab.real(network);
    const { network: second } = await lab.call('POST', '/networks', {
      network: { name: nameOf(network), description: networks[0]?.description },
    });
    await lab.call('POST', '/subnets', {
      subnet: { network_id: second?.id, cidr: '10.5.0.0/24', ip_version: 4, name: nameOf(network) },
    });
    await lab.call('POST', '/ports', { port: { network_id: second?.id } });
    expect(await lab.ensure(network)).toMatchObject({ kind: 'ready', externalID: second?.id });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  const answers = (status: number, body: string): Mishap => ({ kind: 'answers', status, body });

  test.each<[string, Mishap, string]>([
    ['that is down', { kind: 'refused' }, 'GET http'],
    ['that is slow', { kind: 'hangs' }, 'timed out after 200 ms'],
    ['that is overloaded', answers(503, 'busy'), 'Neutron: GET /networks: 503'],
    ['that says nothing', answers(200, ''), 'expected a list of networks'],
    ['that says too much', answers(200, ' '.repeat(9_000_000)), 'exceeded'],
  ])('an outage of Neutron %s harms no network, and is reported', async (_, mishap, message) => {
    const network = lab.newNetwork();
    await lab.ensure(network);
    const operator = lab.operator({ timeoutMs: mishap.kind === 'hangs' ? 200 : 10_000 });
    lab.proxy.mishap = () => mishap;
    const edited = { ...network, spec: { cidr: '10.6.0.0/24', gateway: '10.6.0.1' } };
    const outcome = lab.ensure(edited, operator).then((result) => Reflect.get(result, 'message'), String);
    expect(await outcome).toContain(message);
    expect(await operator.actual(network, signal)).toBeUndefined();
    expect(await lab.remove(network, operator).catch(String)).not.toEqual({ kind: 'gone' });
    lab.proxy.heal();
    expect(await lab.ensure(network)).toMatchObject({ kind: 'ready', change: 'none' });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('an outage of Neutron that passes over filters harms no network of others', async () => {
    const [ours, theirs] = [lab.newNetwork(), lab.newNetwork()];
    await lab.ensure(theirs);
    const [found] = (await lab.real(theirs)).networks;
    const item = { ...found, created_at: '', subnets: [] };
    lab.proxy.mishap = ({ method }) =>
      method === 'GET' ? answers(200, JSON.stringify({ networks: [item] })) : undefined;
    expect(await lab.remove(ours)).toEqual({ kind: 'gone' });
    lab.proxy.heal();
    expect(await lab.shapes(theirs)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });

  test('an outage of Neutron with an answer that never comes makes no second network', async () => {
    const network = lab.newNetwork();
    lab.proxy.mishap = ({ method }) => (method === 'POST' ? { kind: 'unanswered' } : undefined);
    expect(await lab.ensure(network)).toMatchObject({ reason: 'ProviderUnavailable' });
    lab.proxy.heal();
    expect(await lab.ensure(network)).toMatchObject({ kind: 'ready' });
    expect(await lab.shapes(network)).toEqual(['10.5.0.0/24 10.5.0.1']);
  });
});
