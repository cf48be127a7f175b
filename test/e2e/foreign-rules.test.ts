import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { Network, NetworkStatus } from '../../src/networks/api/types.ts';
import { FIRST_VNI } from '../../src/networks/multus/cni-config.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { BLOCKING_RULES, FOREIGN_RULES, SERVICE, serviceRules } from '../support/cluster/foreign-rules.ts';
import { type LabNode, type LabPod, labNodes, MeshLab } from '../support/cluster/mesh-lab.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

jest.setTimeout(60_000);

const status: NetworkStatus = {
  cidr: '10.20.0.0/24',
  gateway: '10.20.0.254',
  secondary: { cidr: 'fd00:20::/64', gateway: 'fd00:20::fe' },
  vni: FIRST_VNI,
  mtu: 1430,
  nodes: labNodes({ a: 1, b: 2 }),
};
const BRIDGED = ['iptables', 'ip6tables', 'arptables'].map(
  (name) => `/proc/sys/net/bridge/bridge-nf-call-${name}`,
);

/** Removes the rules of others. */
const CLEAR =
  'nft list tables | while read -r _ family name; do [ "$name" = envoy-initializer ] || nft delete table "$family" "$name"; done; ip6tables-legacy -P FORWARD ACCEPT';

const servers: ChildProcess[] = [];
let lab: MeshLab;
let nodes: readonly LabNode[];
let a: LabNode;
let b: LabNode;
let sender: LabPod;
let near: LabPod;
let far: LabPod;

const onAll = async (script: string) => {
  for (const node of nodes) await node.sh(script);
};

const plain = ({ addresses }: LabPod) => addresses.map((one) => one.split('/')[0] ?? '');

/** What is lost of pings and TCP of both families to the pod, which takes packets with the true sender alone. */
async function lost(pod: LabPod): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const address of plain(pod)) {
    if (!(await sender.reaches(address, 1300))) failures.push(`ping ${address}`);
  }
  return [...failures, ...(await unanswered(plain(pod)))];
}

/** The addresses at which the sender gets no answer over TCP. */
async function unanswered(addresses: readonly string[]): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const address of addresses) {
    const asks = `printf 'GET /hostname HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 2 ${address} 80 | grep -q '200 OK'`;
    await sender.space.sh(asks).catch(() => failures.push(`tcp ${address}`));
  }
  return failures;
}

describeWithNode('foreign rules', () => {
  beforeAll(async () => {
    lab = await MeshLab.start();
    a = await lab.addNode('a', 1);
    b = await lab.addNode('b', 2);
    nodes = [a, b];
    // As Docker sets it in containers, such as nodes of kind.
    await onAll('echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6');
    // The nodes' addresses are not the first of their devices, which masquerading would take.
    for (const [i, node] of nodes.entries()) {
      const address = `192.0.2.${i + 1}/24 dev eth0`;
      await node.sh(
        `ip address delete ${address}; ip address add 192.0.2.10${i}/24 dev eth0; ip address add ${address}`,
      );
    }
    const network: Network = lab.tell('dual', status);
    await lab.sync();
    const start = (node: LabNode, number: number) =>
      node.startPod(network, [`10.20.0.${number}/24`, `fd00:20::${number}/64`]);
    [sender, near, far] = [await start(a, 1), await start(a, 2), await start(b, 3)];
    await sender.space.sh('ip route add default via 10.20.0.254; ip -6 route add default via fd00:20::fe');
    for (const { space } of [near, far]) {
      await space.sh(`nft -f - <<'end'
table inet true {
  chain input {
    type filter hook input priority filter; policy drop;
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
    ip saddr 10.20.0.1 accept
    ip6 saddr fd00:20::1 accept
  }
}
end`);
    }
    for (const { space } of [sender, near, far]) {
      const args = ['--target', `${space.pid}`, '--net', 'busybox', 'httpd', '-f', '-p', '80', '-h', '/etc'];
      servers.push(spawn('nsenter', args, { env: { PATH: searchPath() }, stdio: 'ignore' }));
    }
    await onAll(`echo 1 | tee ${BRIDGED.join(' ')} >/dev/null`);
  });

  afterAll(async () => {
    for (const server of servers) server.kill();
    await lab?.stop();
  });

  afterEach(async () => {
    await onAll(CLEAR);
    await lab.sync();
  });

  test.each(Object.entries(FOREIGN_RULES))(
    'pods of one Network on two nodes reach each other as themselves under the rules of %s',
    async (_, rules) => {
      await onAll(rules);
      await lab.sync();
      expect([await lost(near), await lost(far)]).toEqual([[], []]);
    },
  );

  test.each([
    ['another pod', 'nobody', () => near],
    ['itself', 'nobody', () => sender],
    ['itself', 'kindnet', () => sender],
  ])('a pod of a Network gets %s by a Service, where %s masquerades', async (_, other, endpoint) => {
    await onAll(FOREIGN_RULES[other] ?? ':');
    await onAll(serviceRules(plain(endpoint())));
    await lab.sync();
    expect(await unanswered(SERVICE)).toEqual([]);
  });

  test("iptables reads and writes the operator's rule, which goes when frames no longer pass", async () => {
    await onAll(FOREIGN_RULES.Docker ?? '');
    await lab.sync();
    await a.sh('iptables-save | iptables-restore');
    await a.sh('ip6tables-save | ip6tables-restore');
    await lab.sync();
    const rules = async () => (await a.sh('iptables -S FORWARD; ip6tables -S FORWARD')).match(/.*nw-.*/g);
    expect(await rules()).toHaveLength(2);
    await onAll('echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables');
    await lab.sync();
    expect(await rules()).toHaveLength(1);
    await onAll('echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables');
  });

  test.each(Object.entries(BLOCKING_RULES))(
    'pods of one Network reach each other, or their nodes say what to open, under %s',
    async (_, [rules, drops]) => {
      await onAll(rules);
      const pings = (address: string) => sender.space.sh(`busybox ping -c 20 -i 0.05 -W 1 ${address} || :`);
      await Promise.all(['10.20.0.3', 'fd00:20::3'].map(pings));
      const problems = (await lab.sync()).map(({ problem }) => problem);
      expect(problems.join()).toContain(`default/dual: a firewall on this node drops ${drops}`);
      await onAll(CLEAR);
      await Promise.all(['10.20.0.3', 'fd00:20::3'].map(pings));
      expect((await lab.sync()).map(({ problem }) => problem)).toEqual([undefined, undefined]);
    },
  );
});
