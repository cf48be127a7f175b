import { afterEach, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import type { Kind } from '../../env/kind/kind.ts';
import { apply, kubectl, podOf, shell } from './cluster-kubectl.ts';
import { asking, NODE_NAMES, onNode } from './kind-two-nodes.ts';

const MULTUS = 'daemonset/kube-multus-ds --namespace kube-system';
const NODES_READY = '{.status.conditions[?(@.type=="NodesReady")].reason}';

/** The tests of how pods come to lack their interface. They need what `onTwoNodes` leaves, and remove it. */
export function withoutMultus(kindOf: () => Kind): void {
  const [first, second] = NODE_NAMES;
  const run = (args: string | readonly string[]) => kubectl(kindOf(), args);
  /** Prints how long it took until that was told: not more than 10 s on a machine that has nothing else to do. */
  async function soon(what: string, told: () => Promise<unknown>): Promise<void> {
    const began = performance.now();
    await told();
    process.stderr.write(
      `      told of ${what} after ${((performance.now() - began) / 1000).toFixed(1)} s\n`,
    );
  }
  const nodesReady = (reason: string) =>
    soon(reason, () => run(`wait network/two --for=jsonpath=${NODES_READY}=${reason} --timeout=60s`));
  const told = (pod: string, reason: string) =>
    soon(`${reason} of ${pod}`, () =>
      eventually('its Event', async () => (await run(`events --for pod/${pod}`)).includes(reason)),
    );
  const hasInterface = async (pod: string) =>
    expect(await shell(kindOf(), pod, 'ls /sys/class/net')).toContain('net1');

  /** Leaves Multus on nodes with this label alone, and takes what it has written from these. */
  async function onlyOn(selector: string, ...without: readonly string[]): Promise<void> {
    const patch = `{"spec":{"template":{"spec":{"nodeSelector":${selector}}}}}`;
    await run(['patch', ...MULTUS.split(' '), '--patch', patch]);
    await run(`rollout status ${MULTUS} --timeout=120s`);
    for (const node of without) {
      const pods = `pods --selector app=multus --namespace kube-system --field-selector spec.nodeName=${node}`;
      await run(`wait ${pods} --for=delete --timeout=120s`);
      await kindOf().onNode(node, 'rm -f /etc/cni/net.d/*multus*.conf');
    }
  }
  /** Everywhere again. */
  const back = () => onlyOn('{"kubernetes.io/hostname":null,"without":null}');

  // A test that fails leaves nodes without it.
  afterEach(async () => {
    await back();
    for (const node of NODE_NAMES) await kindOf().onNode(node, 'rm -f /etc/cni/net.d/00-first.conflist');
  });

  test('a Network on kind says that an interface was removed', async () => {
    await kindOf().onNode(
      second,
      'for port in /sys/class/net/nw-*/brif/veth*; do ip link delete "$(basename "$port")"; done',
    );
    await nodesReady('InterfaceMissing');
    expect(await run('get network two -o jsonpath={.status.conditions}')).toContain('default/b');
    await run('delete pod b --now');
    await nodesReady('NodesReady');
  });

  test('pods on kind wait while Multus is late, and start when it is there', async () => {
    await onlyOn('{"without":"any"}', first, second);
    await soon('a Network that is not Ready', () =>
      run('wait network/two --for=condition=Ready=False --timeout=60s'),
    );
    await apply(kindOf(), podOf('late', {}, onNode(second), asking('two')));
    await told('late', 'WaitsForNetwork');
    expect(await run('get pod late -o jsonpath={.spec.schedulingGates}')).not.toBe('');
    await back();
    await run('wait pod/late --for=condition=Ready --timeout=120s');
    await hasInterface('late');
  });

  test('a pod on kind that starts while Multus restarts has its interface, or its Network says so', async () => {
    await run('delete pod --selector app=multus --namespace kube-system --wait=false');
    await apply(kindOf(), podOf('meanwhile', {}, onNode(second), asking('two')));
    await run('wait pod/meanwhile --for=condition=Ready --timeout=120s');
    // The old one takes its configuration from the node when it ends: the pod may come before anybody knows.
    const shown = await shell(kindOf(), 'meanwhile', 'ls /sys/class/net');
    if (!shown.includes('net1')) await told('meanwhile', 'InterfaceMissing');
    await run('delete pod meanwhile --now');
    await run(`rollout status ${MULTUS} --timeout=120s`);
  });

  test('a Network on kind says that pods are on a node that Multus has not come to', async () => {
    await onlyOn(`{"kubernetes.io/hostname":"${first}"}`, second);
    await nodesReady('NoMultus');
    // On the first node, Multus restarts.
    await run('wait network/two --for=condition=Ready --timeout=120s');
    await apply(
      kindOf(),
      podOf('named', {}, onNode(second), asking('two')),
      podOf('bound', {}, { nodeName: second }, asking('two')),
    );
    await told('named', 'WaitsForNetwork');
    await run('wait pod/bound --for=condition=Ready --timeout=120s');
    await told('bound', 'InterfaceMissing');
    await back();
    await run('wait pod/named --for=condition=Ready --timeout=120s');
    await hasInterface('named');
    // As the Event says.
    await nodesReady('InterfaceMissing');
    await run('delete pod bound --now');
    await nodesReady('NodesReady');
  });

  test('a Network on kind says that another CNI configuration is before that of Multus', async () => {
    await kindOf().onNode(second, 'cd /etc/cni/net.d && cp 10-kindnet.conflist 00-first.conflist');
    await nodesReady('NoMultus');
    await apply(kindOf(), podOf('without', {}, onNode(second), asking('two', 'k8s.v1.cni.cncf.io/networks')));
    await run('wait pod/without --for=condition=Ready --timeout=120s');
    await told('without', 'InterfaceMissing');
    await kindOf().onNode(second, 'rm /etc/cni/net.d/00-first.conflist');
    // Multus has taken that for the cluster's network, and goes on to.
    await run('delete pod --selector app=multus --namespace kube-system');
    await run(`rollout status ${MULTUS} --timeout=120s`);
    await nodesReady('InterfaceMissing');
    await run('delete pod --all --now');
    await run('delete network two --timeout=60s');
  });
}
