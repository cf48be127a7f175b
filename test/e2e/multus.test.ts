import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { bridgeName } from '../../src/networks/multus/cni-config.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { eventually } from '../env/eventually.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster/cluster-kubectl.ts';
import { multusObstacle } from '../support/cluster/multus-obstacle.ts';
import { OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';

/** A first run builds the node, Multus, Envoy's image and our own. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(180_000);

let cluster: Cluster;

const examples = join(projectDirectory(), 'deploy', 'examples');
const envoy = join(projectDirectory(), 'deploy', 'envoy', 'envoy.json');
const run = (args: string) => kubectl(cluster, args);
const no = ' 0% packet loss';

/** A program's output, run on the node. */
async function onNode(command: string, ...args: readonly string[]): Promise<string> {
  const { command: enter, args: all } = cluster.machine.inside({ command, args });
  const { code, stdout, stderr } = await runCommand(enter, all, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

/** What there is of a Network on the node, by kind. */
async function tracesOf(
  namespace: string,
  name: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const bridge = bridgeName(`${namespace}/${name}`);
  const lines = (text: string, part: string) => text.split('\n').filter((line) => line.includes(part));
  return {
    links: lines(await onNode('ip', '-oneline', 'address'), bridge),
    rules: lines(await onNode('nft', 'list', 'ruleset'), bridge),
    files: lines(await onNode('find', '/run/envoy-initializer', '/var/lib/cni'), bridge),
  };
}

describeUnless(await multusObstacle(), 'on a real node with Multus', () => {
  beforeAll(async () => {
    cluster = await startCluster({ images: ['busybox', 'envoy', 'envoy-initializer'], multus: true });
    await new OperatorInCluster({
      own: cluster,
      kubectl: (...call) => cluster.kubectl(...call),
    }).installNetworks();
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
  });

  test('a Network and two pods applied in one go: they reach each other and the gateway once they run', async () => {
    await run(`apply -f ${join(examples, 'network-ping.yaml')}`);
    await run('wait pod/ping pod/pong --for=condition=Ready --timeout=90s');
    expect(await shell(cluster, 'ping', 'ping -c 1 -W 5 -I net1 10.20.0.10')).toContain(no);
    expect(await shell(cluster, 'ping', 'ping -c 1 -W 5 -I net1 10.20.0.1')).toContain(no);
    expect(await shell(cluster, 'pong', 'ip -4 -o address show net1')).toContain('10.20.0.10/24');
    expect(await run('events --for pod/ping')).toMatch(/NetworkReady .* default\/ping/);
  });

  test('a pod that asks for none gets none', async () => {
    await apply(cluster, podOf('plain'));
    await run('wait pod/plain --for=condition=Ready --timeout=60s');
    expect(await shell(cluster, 'plain', 'ls /sys/class/net')).toBe('eth0\nlo\n');
  });

  test('a Network counts what Multus has attached', async () => {
    const counted =
      'jsonpath={.status.attachedPods}/{.status.capacity.allocated}/{.status.capacity.total}/{.status.nodes[*].name}';
    await eventually('two pods with an address each are counted', async () => {
      return (await run(`get network ping -o ${counted}`)) === '2/2/253/node';
    });
    expect(await run('get network ping')).toMatch(/ping +10\.20\.0\.0\/24 +10\.20\.0\.1 +True +2 /);
  });

  test('deleted while in use it waits and says for whom, then goes and leaves nothing on the node', async () => {
    for (const found of Object.values(await tracesOf('default', 'ping'))) expect(found).not.toEqual([]);
    await run('delete network ping --wait=false --cascade=foreground');
    await run(
      'wait network/ping --for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=Deleting',
    );
    const message = '{.status.conditions[?(@.type=="Progressing")].message}';
    expect(await run(`get network ping -o jsonpath=${message}`)).toBe(
      'waits for the pods that use it: default/ping, default/pong',
    );
    expect(await shell(cluster, 'ping', 'ping -c 1 -W 5 -I net1 10.20.0.10')).toContain(no);
    await run('delete pod ping pong --now');
    await run('wait network/ping --for=delete --timeout=60s');
    await run('wait net-attach-def/ping --for=delete --timeout=60s');
    await eventually('nothing of it is left', async () => {
      return Object.values(await tracesOf('default', 'ping')).every((found) => found.length === 0);
    });
  });

  test('another CNI configuration before that of Multus: pods wait, and one that does not is told', async () => {
    await apply(cluster, {
      apiVersion: 'samplecrd.k8s.io/v1',
      kind: 'Network',
      metadata: { name: 'late' },
      spec: { cidr: '10.21.0.0/24', gateway: '10.21.0.1' },
    });
    await run('wait network/late --for=condition=Ready --timeout=30s');
    const first = cluster.machine.outside('/etc/cni/net.d/00-first.conflist');
    await copyFile(cluster.machine.outside('/etc/cni/net.d/10-bridge.conflist'), first);
    await run('wait network/late --for=condition=Ready=False --timeout=30s');
    const asking = (name: string, key: string) => podOf(name, {}, {}, { annotations: { [key]: 'late' } });
    await apply(cluster, asking('waits', 'samplecrd.k8s.io/network'));
    await apply(cluster, asking('without', 'k8s.v1.cni.cncf.io/networks'));
    await run('wait pod/without --for=condition=Ready --timeout=60s');
    expect(await shell(cluster, 'without', 'ls /sys/class/net')).toBe('eth0\nlo\n');
    await eventually('its Event', async () =>
      (await run('events --for pod/without')).includes('InterfaceMissing'),
    );
    expect(await run('get pod waits -o jsonpath={.spec.schedulingGates}')).not.toBe('');
    await rm(first);
    await run('wait pod/waits --for=condition=Ready --timeout=60s');
    expect(await shell(cluster, 'waits', 'ls /sys/class/net')).toBe('eth0\nlo\nnet1\n');
    await run('delete pod waits without --now');
    await run('delete network late --timeout=60s');
  });

  test('sidecar and Network go together', async () => {
    await run(`create configmap envoy --from-file ${envoy}`);
    await run(
      `apply -f ${join(examples, 'example-network.yaml')} -f ${join(examples, 'network-and-sidecar.yaml')}`,
    );
    await run('rollout status deployment/network-and-sidecar --timeout=120s');
    const pods = JSON.parse(await run('get pods -l app=network-and-sidecar -o json')) as {
      items: { metadata: { name: string }; spec: { containers: { name: string }[] } }[];
    };
    for (const { metadata, spec } of pods.items) {
      expect(spec.containers.map(({ name }) => name)).toEqual(['app', 'envoy']);
      const address = ['exec', metadata.name, '-c', 'app', '--', 'ip', '-4', '-o', 'address', 'show', 'net1'];
      expect(await kubectl(cluster, address)).toMatch(/192\.168\.\d+\.\d+\/16/);
    }
  });
});
