import { join } from 'node:path';
import type { Cluster } from '../env/cluster/cluster.ts';
import type { Machine } from '../env/cluster/machine.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { eventually } from '../env/eventually.ts';
import { FOR_THE_WEBHOOK, hasSidecar, OPTED_IN } from '../support/cluster/admission-load.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { fakedClockConfigMap, fakedClockPatch } from '../support/time/faked-clock.ts';

export const SECOND = 'second';
/** The annotation by which a pod asks for Networks. */
export const ASKED = 'samplecrd.k8s.io/network';
/** Where a node's agent writes: of 1 MB, so that it can be filled. */
export const STATE = '/run/envoy-initializer';
/** After an outage, the EndpointSlice controller may wait for minutes before it tries again. */
export const PATIENTLY = { boundMs: 600_000, everyMs: 2_000 };

interface PodJson {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly containerID: string; readonly restartCount: number }[];
  };
}

/** Two nodes, with the operator, its node agents, Multus, and the rights of rollouts. */
export class World {
  readonly cluster: Cluster;
  readonly operator: OperatorInCluster;
  readonly machines: readonly [Machine, Machine];

  private constructor(cluster: Cluster, second: Machine) {
    this.cluster = cluster;
    this.operator = new OperatorInCluster({ own: cluster, kubectl: (...call) => cluster.kubectl(...call) });
    this.machines = [cluster.machine, second];
  }

  static async start(): Promise<World> {
    const images = ['busybox', 'envoy', 'envoy-initializer'] as const;
    const cluster = await startCluster({ images, multus: true, auditLog: 'Metadata' });
    try {
      const world = new World(cluster, (await cluster.addNode(SECOND)).machine);
      await world.#install();
      return world;
    } catch (err) {
      await cluster.stop();
      throw err;
    }
  }

  async #install(): Promise<void> {
    for (const machine of this.machines)
      await this.on(machine, `mkdir -p ${STATE}; mount -t tmpfs -o size=1m tmpfs ${STATE}`);
    await this.run(`wait node/${SECOND} --for=create --for=condition=Ready --timeout=60s`);
    await this.operator.installNetworks('networks');
    const rollout = join(projectDirectory(), 'deploy/components/rollout');
    await this.run(`apply -f ${rollout}/rbac.yaml`);
    const fence = 'validatingadmissionpolicy/envoy-initializer-fence';
    await this.run(`patch ${fence} --type=json --patch-file ${rollout}/fence.yaml`);
    await this.operator.kubectl('apply -f -', JSON.stringify(await fakedClockConfigMap('faketime')));
    const patch = JSON.stringify(fakedClockPatch('faketime', OPERATOR));
    await this.run(['patch', `deployment/${OPERATOR}`, `-n=${OPERATOR}`, '--patch', patch]);
    await this.operator.rolledOut();
  }

  /** All is in place, and both webhooks are reached. */
  async settled(): Promise<void> {
    await this.operator.rolledOut();
    await this.operator.agentsRolledOut();
    const asking = { labels: OPTED_IN, annotations: { ...FOR_THE_WEBHOOK, [ASKED]: 'both' } };
    const pod = JSON.stringify(podOf('probe', {}, {}, asking));
    const isReached = async () => {
      await kubectl(this.cluster, 'create --dry-run=server --filename -', pod);
      return true;
    };
    await eventually('the operator is reached', isReached, PATIENTLY);
    await this.complete(5);
  }

  run(args: string | readonly string[]): Promise<string> {
    return kubectl(this.cluster, args);
  }

  /** What a shell's command line prints on a node, however it ends. */
  async on({ inside }: Machine, line: string): Promise<string> {
    const { command, args } = inside({ command: 'sh', args: ['-c', line] });
    return (await runCommand(command, args, { PATH: searchPath() }, '')).stdout;
  }

  async pods(namespace: string, selector: string): Promise<readonly PodJson[]> {
    return JSON.parse(await this.run(['get', 'pods', `-n=${namespace}`, `-l=${selector}`, '-o=json'])).items;
  }

  async network(name: string, range: string, namespace = 'default'): Promise<void> {
    const spec = { cidr: `${range}.0.0/16`, gateway: `${range}.0.1` };
    const metadata = { name, namespace };
    await apply(this.cluster, { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network', metadata, spec });
  }

  /** Each of so many pods runs with what it asked for, and no other. */
  async complete(expected: number): Promise<void> {
    const areComplete = async () => {
      const pods = await this.pods('default', 'app in (both,plain,passing)');
      const isReady = ({ status }: PodJson) =>
        status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
      if (pods.length !== expected || !pods.every(isReady)) return false;
      for (const pod of pods) {
        const asked = ASKED in (pod.metadata.annotations ?? {});
        const links = await this.run(['exec', pod.metadata.name, '-c=app', '--', 'ls', '/sys/class/net']);
        if (links.includes('net1') !== asked || hasSidecar(pod) !== asked) return false;
      }
      return true;
    };
    await eventually(`${expected} pods run with what they asked for`, areComplete, PATIENTLY);
  }
}
