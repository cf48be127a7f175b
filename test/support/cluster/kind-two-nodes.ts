import { expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import type { Kind } from '../../env/kind/kind.ts';
import { apply, kubectl, podOf, shell } from './cluster-kubectl.ts';
import { FOREIGN_RULES } from './foreign-rules.ts';

export const NODE_NAMES = ['kind-control-plane', 'kind-worker'] as const;

const NETWORK = {
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name: 'two' },
  spec: { cidr: '10.21.0.0/24', gateway: '10.21.0.1' },
};
/** A pod that tells who asks it by which address it sees. */
const TELLS = {
  command: [
    'sh',
    '-c',
    'mkdir -p /tmp/cgi-bin && cd /tmp && printf "#!/bin/sh\\necho\\necho \\$REMOTE_ADDR\\n" >cgi-bin/who && chmod 755 cgi-bin/who && exec httpd -f -p 9000',
  ],
};
const BRIDGED = '/proc/sys/net/bridge/bridge-nf-call-iptables';
/** How soon what a pod lacks is to be told. */
const SOON = '10s';
const MULTUS = 'daemonset/kube-multus-ds --namespace kube-system';

const on = (node: string) => ({
  nodeSelector: { 'kubernetes.io/hostname': node },
  tolerations: [{ operator: 'Exists' }],
});
const asking = (network: string, key = 'samplecrd.k8s.io/network') => ({ annotations: { [key]: network } });
const NODES_READY = '{.status.conditions[?(@.type=="NodesReady")].reason}';

/** The tests of two nodes of kind with the overlay `kind`. */
export function onTwoNodes(kindOf: () => Kind): void {
  const run = (args: string | readonly string[]) => kubectl(kindOf(), args);
  const onNodes = async (script: string) => {
    for (const node of NODE_NAMES) await kindOf().onNode(node, script);
  };
  const [first, second] = NODE_NAMES;

  /** Of both, the other reaches it and is seen with its own address. */
  async function reachEachOther(): Promise<void> {
    for (const [from, own, other] of [
      ['a', 10, 11],
      ['b', 11, 10],
    ] as const) {
      expect(await shell(kindOf(), from, `ping -c 2 -W 2 10.21.0.${other}`)).toContain(' 0% packet loss');
      const seen = await shell(
        kindOf(),
        from,
        `printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n' | nc -w 5 10.21.0.${other} 9000`,
      );
      expect(seen).toContain(`10.21.0.${own}`);
    }
  }

  test('has pods of one Network on two nodes that see each other’s own address', async () => {
    const at = (number: number) => asking(`[{"name": "two", "ips": ["10.21.0.${number}/24"]}]`);
    await apply(
      kindOf(),
      NETWORK,
      podOf('a', TELLS, on(first), at(10)),
      podOf('b', TELLS, on(second), at(11)),
    );
    await run('wait pod/a pod/b --for=condition=Ready --timeout=300s');
    for (const bridged of ['0', '1']) {
      await onNodes(`echo ${bridged} >${BRIDGED}`);
      await reachEachOther();
    }
  });

  test('also under the rules of Docker, beside those of kindnet and kube-proxy', async () => {
    await onNodes('iptables-save >/run/v4; ip6tables-save >/run/v6');
    try {
      await onNodes(FOREIGN_RULES.Docker ?? '');
      await eventually('the node agents have seen them', async () => {
        await reachEachOther();
        return true;
      });
    } finally {
      await onNodes('iptables-restore </run/v4; ip6tables-restore </run/v6');
    }
  });

  test('is told of an interface that is gone', async () => {
    await kindOf().onNode(
      second,
      'for port in /sys/class/net/nw-*/brif/veth*; do ip link delete "$(basename "$port")"; done',
    );
    await run(`wait network/two --for=jsonpath=${NODES_READY}=InterfaceMissing --timeout=${SOON}`);
    expect(await run('get network two -o jsonpath={.status.conditions}')).toContain('default/b');
    await run('delete pod b --now');
    await run(`wait network/two --for=jsonpath=${NODES_READY}=NodesReady --timeout=60s`);
  });

  test('has pods that wait while Multus is not there, and start when it is', async () => {
    const select = (value: string) =>
      kindOf().type(
        `kubectl patch ${MULTUS} --patch '{"spec":{"template":{"spec":{"nodeSelector":{"without":${value}}}}}}'`,
      );
    await select('"any"');
    await run('wait pods --selector app=multus --namespace kube-system --for=delete --timeout=120s');
    await onNodes('rm -f /etc/cni/net.d/*multus*.conf');
    await run('wait network/two --for=condition=Ready=False --timeout=60s');
    await apply(kindOf(), podOf('late', {}, on(second), asking('two')));
    await eventually('it is told', async () =>
      (await run('events --for pod/late')).includes('WaitsForNetwork'),
    );
    expect(await run('get pod late -o jsonpath={.spec.schedulingGates}')).not.toBe('');
    await select('null');
    await run(`rollout status ${MULTUS} --timeout=120s`);
    await run('wait pod/late --for=condition=Ready --timeout=120s');
    expect(await shell(kindOf(), 'late', 'ls /sys/class/net')).toContain('net1');
  });

  test('has pods that start while Multus does, with their interface', async () => {
    await run('delete pod --selector app=multus --namespace kube-system --wait=false');
    await apply(kindOf(), podOf('meanwhile', {}, on(second), asking('two')));
    await run('wait pod/meanwhile --for=condition=Ready --timeout=120s');
    expect(await shell(kindOf(), 'meanwhile', 'ls /sys/class/net')).toContain('net1');
    await run(`rollout status ${MULTUS} --timeout=120s`);
  });

  test('is told of another CNI configuration before that of Multus', async () => {
    await kindOf().onNode(second, 'cd /etc/cni/net.d && cp 10-kindnet.conflist 00-first.conflist');
    await apply(kindOf(), podOf('without', {}, on(second), asking('two', 'k8s.v1.cni.cncf.io/networks')));
    await run('wait pod/without --for=condition=Ready --timeout=120s');
    await eventually(
      'its Event',
      async () => (await run('events --for pod/without')).includes('InterfaceMissing'),
      { boundMs: 10_000 },
    );
    await run(`wait network/two --for=jsonpath=${NODES_READY}=NoMultus --timeout=${SOON}`);
    await kindOf().onNode(second, 'rm /etc/cni/net.d/00-first.conflist');
    await run('delete pod a late meanwhile without --now');
    await run('delete network two --timeout=60s');
  });
}
