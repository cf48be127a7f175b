import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { FIRST_VNI } from '../../src/network/providers/multus/cni-config.ts';
import { type NodeLinks, tunnelName } from '../../src/node-agent/links.ts';
import { Sweeper } from '../../src/node-agent/sweeper.ts';
import { describeWithNode } from '../support/describe-with-cluster.ts';
import { type LabNode, type LabPod, labNetwork, MeshLab } from '../support/mesh-lab.ts';

jest.setTimeout(60_000);

const four = labNetwork('four', '10.20.0.0/24', '10.20.0.1', FIRST_VNI);
const six = labNetwork('six', 'fd00:20::/64', 'fd00:20::1', FIRST_VNI + 1);
const plain = (address: string) => address.replace(/\/.*/, '');

let lab: MeshLab;
let a: LabNode;
let b: LabNode;
let pods: Record<'a4' | 'b4' | 'a6' | 'b6', LabPod>;

describeWithNode('the networks of two nodes', () => {
  beforeAll(async () => {
    lab = await MeshLab.start();
    a = await lab.addNode('a', 1);
    b = await lab.addNode('b', 2);
    lab.networks = [four, six];
  });

  afterAll(async () => {
    await lab?.stop();
  });

  test('give no address to a pod before the node agent has joined them', async () => {
    await expect(a.startPod(four)).rejects.toThrow('this node has no addresses of the Network yet');
  });

  test('are reported when they are joined', async () => {
    const reports = await lab.join();
    const networks = { 'default/four': four.digest, 'default/six': six.digest };
    expect(reports).toEqual([1, 2].map((number) => ({ number, table: expect.any(String), networks })));
    expect(new Set(reports.map(({ table }) => table)).size).toBe(1);
  });

  test('give each pod an address of its own node’s slice', async () => {
    pods = {
      a4: await a.startPod(four),
      b4: await b.startPod(four),
      a6: await a.startPod(six),
      b6: await b.startPod(six),
    };
    expect([pods.a4.address, pods.b4.address]).toEqual(['10.20.0.16/24', '10.20.0.32/24']);
    expect([pods.a6.address, pods.b6.address]).toEqual(['fd00:20:0:0:10::/64', 'fd00:20:0:0:20::/64']);
  });

  test('carry packets between pods of both, as large as the MTU says', async () => {
    for (const { space } of Object.values(pods))
      expect(await space.sh('ip link show net1')).toContain(' mtu 1450 ');
    expect(await pods.a4.reaches(plain(pods.b4.address), 1450 - 28)).toBe(true);
    expect(await pods.b4.reaches(plain(pods.a4.address))).toBe(true);
    expect(await pods.a6.reaches(plain(pods.b6.address), 1450 - 48)).toBe(true);
    expect(await pods.b6.reaches(plain(pods.a6.address))).toBe(true);
  });

  test('have their gateway on each node, and no pod asks that of another', async () => {
    for (const [name, gateway] of [
      ['four', '10.20.0.1'],
      ['six', 'fd00:20::1'],
    ] as const) {
      const [one, other] = name === 'four' ? [pods.a4, pods.b4] : [pods.a6, pods.b6];
      expect([await one.reaches(gateway), await other.reaches(gateway)]).toEqual([true, true]);
    }
    // Where one was heard from afar, that would be learned.
    const { tunnels } = await a.host.links();
    for (const tunnel of [four, six].map(({ bridge }) => tunnelName(bridge))) {
      expect(tunnels.get(tunnel)?.learned.filter(({ mac }) => mac.startsWith('02:6e:77'))).toEqual([]);
    }
    await lab.plug(2, false);
    expect([await pods.a4.reaches('10.20.0.1'), await pods.a4.reaches(plain(pods.b4.address), 1)]).toEqual([
      true,
      false,
    ]);
    await lab.plug(2, true);
  });

  test('are left alone when they are joined', async () => {
    const take = jest.spyOn(a.host, 'take');
    await lab.join();
    expect(take).not.toHaveBeenCalled();
    take.mockRestore();
  });

  test.each([
    ['a changed tunnel', () => `ip link delete ${tunnelName(four.bridge)}`],
    [
      'another gateway',
      () => `ip address flush dev ${four.bridge} && ip address add 10.20.0.9/24 dev ${four.bridge}`,
    ],
    ['a lost peer', () => `bridge fdb delete 00:00:00:00:00:00 dev ${tunnelName(four.bridge)} dst 192.0.2.2`],
    [
      'a peer too many',
      () => `bridge fdb append 00:00:00:00:00:00 dev ${tunnelName(four.bridge)} dst 192.0.2.77`,
    ],
    ['a tunnel unplugged', () => `ip link set ${tunnelName(four.bridge)} nomaster down`],
    [
      'a tunnel of another place',
      () =>
        `ip link delete ${tunnelName(four.bridge)} && ip link add ${tunnelName(four.bridge)} type vxlan id 7 local 192.0.2.9 dstport 4790`,
    ],
    ['another hardware address', () => `ip link set ${four.bridge} address 02:00:00:00:00:07`],
  ])('are mended after %s', async (_, harm) => {
    const before = await a.host.links();
    await a.sh(harm());
    expect(comparable(await a.host.links())).not.toEqual(comparable(before));
    await lab.join();
    expect(comparable(await a.host.links())).toEqual(comparable(before));
    expect(await pods.a4.reaches(plain(pods.b4.address))).toBe(true);
    expect(await pods.b4.reaches('10.20.0.1')).toBe(true);
  });

  test('let a pod choose an address that no node gives out, and none of another node’s', async () => {
    const pod = await b.startPod(four, '10.20.0.7/24');
    expect(pod.address).toBe('10.20.0.7/24');
    expect(await pods.a4.reaches('10.20.0.7')).toBe(true);
    await expect(b.startPod(four, '10.20.0.17/24')).rejects.toThrow('10.20.0.17');
    await b.stopPod(pod, four);
  });

  test('take in a node that comes, and let go of one that goes', async () => {
    const c = await lab.addNode('c', 3);
    await lab.join();
    const pod = await c.startPod(four);
    expect(pod.address).toBe('10.20.0.48/24');
    expect([await pod.reaches(plain(pods.a4.address)), await pods.b4.reaches(plain(pod.address))]).toEqual([
      true,
      true,
    ]);
    await lab.removeNode('c', 3);
    const tunnel = async () => (await a.host.links()).tunnels.get(tunnelName(four.bridge));
    const heard = async () => ((await tunnel())?.learned ?? []).some(({ peer }) => peer === '192.0.2.3');
    expect(await heard()).toBe(true);
    lab.tell((_, number) => [`192.0.2.${number}`]);
    await lab.join();
    expect((await tunnel())?.peers).toEqual(['192.0.2.2']);
    expect(await heard()).toBe(false);
  });

  test('go by the addresses that nodes have, also where these are IPv6', async () => {
    lab.tell((_, number) => [`2001:db8::${number}`]);
    await lab.join();
    expect((await a.host.links()).tunnels.get(tunnelName(four.bridge))?.local).toBe('2001:db8::1');
    expect(await pods.a4.reaches(plain(pods.b4.address), 1430 - 28)).toBe(true);
    expect(await pods.b6.reaches(plain(pods.a6.address))).toBe(true);
  });

  test('say so where a node has no address by which it could be reached', async () => {
    lab.tell((name) => (name === 'b' ? [] : ['192.0.2.1']));
    const networks = { 'default/four': four.digest, 'default/six': six.digest };
    const [first, second] = await lab.join();
    expect(first).toEqual({ number: 1, table: expect.any(String), networks });
    expect(second).toMatchObject({ networks: {}, table: '', problem: 'it has no InternalIP' });
    lab.tell((name) => (name === 'b' ? ['2001:db8::2'] : ['192.0.2.1']));
    expect(await lab.join()).toMatchObject([
      { networks: {}, problem: 'node b has no address of the family of 192.0.2.1' },
      { networks: {}, problem: 'node a has no address of the family of 2001:db8::2' },
    ]);
    lab.tell((name) => (name === 'b' ? [] : ['192.0.2.1']));
    await lab.join();
    await expect(b.startPod(four)).rejects.toThrow('no addresses');
    lab.tell((_, number) => [`192.0.2.${number}`]);
  });

  test.each(['10.77.0.128/25', '192.0.2.0/24'])(
    'are never made with a range that the node has, whatever the status says: %s',
    async (range) => {
      // A second LAN of the node, and that by which the nodes reach each other.
      await a.sh(
        'ip link add lan0 type bridge && ip address add 10.77.0.1/24 dev lan0 && ip link set lan0 up',
      );
      const forged = labNetwork('forged', range, range.replace(/\.\d+\/.*/, '.200'), FIRST_VNI + 5);
      const links = await a.sh('ip -oneline link');
      lab.networks = [four, six, forged];
      const [report] = await lab.join();
      expect(report?.problem).toMatch(
        /^default\/forged: .* overlaps .* of this node.*: it is not created on this node$/,
      );
      expect(Object.keys(report?.networks ?? {})).toEqual(['default/four', 'default/six']);
      expect(await a.sh('ip -oneline link')).toBe(links);
      expect(await a.sh('busybox ping -c 1 -W 5 192.0.2.2')).toContain(' 0% packet loss');
      await expect(a.startPod(forged)).rejects.toThrow('no addresses');
      await a.sh('ip link delete lan0');
      lab.networks = [four, six];
      await lab.join();
    },
  );

  test('go on with their pods when a route comes that their range meets, and the node says so', async () => {
    await a.sh('ip route add 10.20.0.240/28 via 192.0.2.2');
    const [report] = await lab.join();
    expect(report?.problem).toContain('10.20.0.0/24 overlaps 10.20.0.240/28 of a route of this node by eth0');
    expect(report?.networks).toMatchObject({ 'default/four': four.digest });
    expect(await pods.a4.reaches(plain(pods.b4.address))).toBe(true);
    await a.sh('ip route delete 10.20.0.240/28');
    expect((await lab.join())[0]).not.toHaveProperty('problem');
  });

  test('go on when nothing is known of any, and when all lists are empty', async () => {
    const before = comparable(await a.host.links());
    lab.networks = [];
    lab.needed = undefined;
    await lab.join();
    expect(comparable(await a.host.links())).toEqual(before);
    expect(await pods.a4.reaches(plain(pods.b4.address))).toBe(true);
    const pod = await b.startPod(four);
    expect(await pods.a4.reaches(plain(pod.address))).toBe(true);
    await b.stopPod(pod, four);
    lab.networks = [four, six];
    lab.needed = new Set();
    await lab.join();
  });

  test('leave nothing when they go', async () => {
    await a.stopPod(pods.a4, four);
    lab.networks = [six];
    await lab.join();
    await expect(a.startPod(four)).rejects.toThrow('no addresses');
    const sweeper = new Sweeper({
      host: a.host,
      needed: () => new Set([six.key]),
      log: pino({ level: 'silent' }),
    });
    await sweeper.sweep();
    await sweeper.sweep();
    const { tunnels } = await a.host.links();
    expect([...tunnels.keys()]).toEqual([tunnelName(six.bridge)]);
    expect((await a.host.state()).bridges).toEqual([{ name: six.bridge, ports: 1 }]);
  });
});

/** Without what the kernel learns by itself. */
function comparable({ bridges, tunnels }: NodeLinks): unknown {
  const told = Array.from(tunnels, ([name, { learned, ...tunnel }]) => [name, tunnel]);
  return { bridges: Object.fromEntries(bridges), tunnels: Object.fromEntries(told) };
}
