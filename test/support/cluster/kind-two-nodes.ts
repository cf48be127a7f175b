import { expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import type { Kind } from '../../env/kind/kind.ts';
import { apply, kubectl, podOf, shell } from './cluster-kubectl.ts';
import { BLOCKING_RULES, FOREIGN_RULES } from './foreign-rules.ts';

export const NODE_NAMES = ['kind-control-plane', 'kind-worker'] as const;

const NETWORK = {
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name: 'two' },
  spec: {
    ...{ cidr: '10.21.0.0/24', gateway: '10.21.0.1' },
    secondary: { cidr: 'fd00:21::/64', gateway: 'fd00:21::1' },
  },
};
/** Of its pods, of both families. */
const ADDRESSES = { a: ['10.21.0.10', 'fd00:21::a'], b: ['10.21.0.11', 'fd00:21::b'] } as const;
/** A pod that tells who asks it by which address it sees. */
const TELLS = {
  command: [
    'sh',
    '-c',
    'mkdir -p /tmp/cgi-bin && cd /tmp && printf "#!/bin/sh\\necho\\necho \\$REMOTE_ADDR\\n" >cgi-bin/who && chmod 755 cgi-bin/who && exec httpd -f -p 9000',
  ],
};
const BRIDGED = ['iptables', 'ip6tables'].map((name) => `/proc/sys/net/bridge/bridge-nf-call-${name}`);

/** What is done to the nodes, beside the rules of kindnet and kube-proxy that they have. */
const { kindnet: _, ...PROGRAMS } = FOREIGN_RULES;
const OTHERS: Readonly<Record<string, string>> = {
  'kindnet and kube-proxy alone': ':',
  ...PROGRAMS,
  'rp_filter 1 and without forwarding': `
    for each in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 1 >$each; done
    echo 0 >/proc/sys/net/ipv4/ip_forward`,
};
/** What an administrator opens for Kubernetes itself where a firewall drops all else. */
const OPEN = `
  for table in iptables ip6tables; do $table -I INPUT -p tcp -j ACCEPT; done
  iptables -I FORWARD -s 10.244.0.0/16 -j ACCEPT
  iptables -I FORWARD -d 10.244.0.0/16 -j ACCEPT`;
const SAVE = 'iptables-save >/run/v4; ip6tables-save >/run/v6';
const PUT_BACK = `
  for table in $(nft list tables | grep -o 'ip kube-proxy\\|inet firewalld' | tr ' ' /); do
    nft delete table $(echo $table | tr / ' ')
  done
  for each in iptables ip6tables; do $each -t raw -F; $each -t raw -X; done
  iptables-restore </run/v4
  ip6tables-restore </run/v6
  for each in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$each; done
  echo 1 >/proc/sys/net/ipv4/ip_forward`;

export const onNode = (node: string) => ({
  nodeSelector: { 'kubernetes.io/hostname': node },
  tolerations: [{ operator: 'Exists' }],
});
export const asking = (network: string, key = 'samplecrd.k8s.io/network') => ({
  annotations: { [key]: network },
});

/** The tests of a Network on two nodes of kind with the overlay `kind`. They leave it there, with its pods `a` and `b`. */
export function onTwoNodes(kindOf: () => Kind): void {
  const run = (args: string | readonly string[]) => kubectl(kindOf(), args);
  const onNodes = async (script: string) => {
    for (const node of NODE_NAMES) await kindOf().onNode(node, script);
  };
  const [first, second] = NODE_NAMES;

  /** What does not work between the two: by each family, of both the other reaches it and is seen with its own address. */
  async function failures(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      for (const [family, address] of ADDRESSES[to].entries()) {
        const request = "printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n'";
        const script = `ping -c 2 -W 2 ${address}; ${request} | nc -w 5 ${address} 9000; :`;
        const seen = await shell(kindOf(), from, script);
        if (!seen.includes(' 0% packet loss')) found.push(`${from}: ping ${address}`);
        if (!seen.includes(ADDRESSES[from][family] ?? '?')) found.push(`${from}: own address at ${address}`);
      }
    }
    return found;
  }

  /** The node agents see what has changed, and act. */
  async function reachEachOther(): Promise<void> {
    let found: readonly string[] = [];
    await eventually('the pods reach each other', async () => {
      found = await failures();
      return found.length === 0;
    }).catch(() => {});
    expect(found).toEqual([]);
  }

  test('pods of one Network on two nodes of kind see each other’s own addresses', async () => {
    const at = (name: keyof typeof ADDRESSES) => {
      const [v4, v6] = ADDRESSES[name];
      return asking(JSON.stringify([{ name: 'two', ips: [`${v4}/24`, `${v6}/64`] }]));
    };
    const pod = (name: keyof typeof ADDRESSES, node: string) => podOf(name, TELLS, onNode(node), at(name));
    await apply(kindOf(), NETWORK, pod('a', first), pod('b', second));
    await run('wait pod/a pod/b --for=condition=Ready --timeout=300s');
    await reachEachOther();
    await run('wait network/two --for=condition=NodesReady --timeout=60s');
  });

  test.each(Object.entries(OTHERS))(
    'pods on kind reach each other beside %s, bridged frames filtered or not',
    async (_name, rules) => {
      await onNodes(SAVE);
      try {
        await onNodes(OPEN);
        await onNodes(rules);
        for (const bridged of ['1', '0']) {
          await onNodes(`echo ${bridged} | tee ${BRIDGED.join(' ')}`);
          await reachEachOther();
        }
      } finally {
        await onNodes(PUT_BACK);
        await onNodes(`echo 1 | tee ${BRIDGED.join(' ')}`);
      }
    },
  );

  test('a Network on kind says what to open under firewalld', async () => {
    await kindOf().onNode(second, BLOCKING_RULES.firewalld?.[0] ?? '');
    // Until the agent has counted an interval in which no packet of the tests before passed.
    const ready = (status: string, said: string) => {
      const isSo = async () => {
        await shell(kindOf(), 'a', `ping -c 12 -i 0.1 -W 1 ${ADDRESSES.b[0]}; :`);
        const condition = 'jsonpath={.status.conditions[?(@.type=="NodesReady")]}';
        const shown = await run(`get network two -o ${condition}`);
        return shown.includes(`"status":"${status}"`) && shown.includes(said);
      };
      return eventually(`NodesReady is ${status}`, isSo, { boundMs: 180_000 });
    };
    try {
      await ready('False', 'a firewall on this node drops IPv4 packets between pods');
    } finally {
      await kindOf().onNode(second, 'nft delete table inet firewalld');
    }
    await ready('True', '');
  });
}
