import { join } from 'node:path';
import { CONTAINERD_SOCKET } from '../../env/cluster/container-config.ts';
import { searchPath } from '../../env/cluster/search-path.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { eventually } from '../../env/eventually.ts';
import { FOR_THE_WEBHOOK, IDLE_SPEC, OPTED_IN } from './admission-load.ts';
import { kubectl } from './cluster-kubectl.ts';
import type { E2eCluster } from './e2e-cluster.ts';

export const OPERATOR = 'envoy-initializer';
const OVERLAYS = join(projectDirectory(), 'deploy', 'overlays');
export const DEFAULT_OVERLAY = join(OVERLAYS, 'default');
/** The DaemonSet of deploy/overlays/node-agent, and its namespace. */
export const AGENT = 'envoy-initializer-node-agent';

/** One that only the webhook can inject. */
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'probe', namespace: 'default', labels: OPTED_IN, annotations: FOR_THE_WEBHOOK },
  spec: IDLE_SPEC,
};

/** USER_HZ, which is 100 wherever Linux runs. */
const TICKS_PER_SECOND = 100;

/** A pod of the operator's, as far as it is looked at. */
export interface OperatorPod {
  readonly name: string;
  readonly ready: boolean;
  /** Of its one container, as the runtime knows it; empty until it has been started. */
  readonly containerId: string;
  readonly restarts: number;
}

interface PodJson {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly containerID?: string;
      readonly restartCount: number;
    }[];
  };
}

/** The operator in a cluster, from the manifests, and what is done to it there. */
export class OperatorInCluster {
  readonly #cluster: Pick<E2eCluster, 'kubectl' | 'own'>;

  constructor(cluster: Pick<E2eCluster, 'kubectl' | 'own'>) {
    this.#cluster = cluster;
  }

  /** kubectl in the operator's namespace. */
  kubectl(args: string, input?: string): Promise<string> {
    return kubectl(this.#cluster, `--namespace ${OPERATOR} ${args}`, input);
  }

  /** One command, as it is in the README. Resolves when it is rolled out, has made its template, and is reached. */
  async install(): Promise<void> {
    await kubectl(this.#cluster, `apply -k ${DEFAULT_OVERLAY}`);
    await this.#installed();
  }

  /** The same with node agents, as docs/operations.md has it. They remove soon what nobody needs. */
  async installNetworks(overlay: 'networks' | 'neutron-pods'): Promise<void> {
    const manifests = await kubectl(this.#cluster, `kustomize ${join(OVERLAYS, overlay)}`);
    const soon = ['--look-interval=1s', '--linger=2s'];
    const impatient = manifests.replace(/^( *)- node-agent$/m, (line, indent) =>
      [line, ...soon.map((flag) => `${indent}- ${flag}`)].join('\n'),
    );
    await kubectl(this.#cluster, 'apply -f -', impatient);
    await this.#installed();
    await this.agentsRolledOut();
  }

  async agentsRolledOut(): Promise<void> {
    await kubectl(this.#cluster, `rollout status daemonset/${AGENT} -n ${AGENT} --timeout=120s`);
  }

  async #installed(): Promise<void> {
    await this.rolledOut();
    await this.kubectl(`wait configmap/${OPERATOR} --for=create --timeout=60s`);
    await this.#reached();
  }

  async rolledOut(): Promise<void> {
    await this.kubectl(`rollout status deployment/${OPERATOR} --timeout=120s`);
  }

  /** kube-proxy learns a moment after the kubelet that a pod is ready, and refuses connections until then. */
  async #reached(): Promise<void> {
    await eventually('the API server reaches it', async () => {
      await kubectl(this.#cluster, 'create --dry-run=server --filename -', JSON.stringify(POD));
      return true;
    });
  }

  /** Resolves when as many are ready and no other is there, and when they are reached. */
  async scale(replicas: number): Promise<void> {
    await this.kubectl(`scale deployment/${OPERATOR} --replicas=${replicas}`);
    await eventually(`${replicas} replicas are left`, async () => {
      const pods = await this.pods({ ending: true });
      return pods.length === replicas && pods.every(({ ready }) => ready);
    });
    if (replicas > 0) await this.#reached();
  }

  /** Those that are not ending, or all. */
  async pods({ ending = false } = {}): Promise<OperatorPod[]> {
    const { items } = JSON.parse(await this.kubectl(`get pods --selector app=${OPERATOR} --output json`));
    return (items as readonly PodJson[])
      .filter(({ metadata }) => ending || metadata.deletionTimestamp === undefined)
      .map(({ metadata, status }) => {
        const [container] = status.containerStatuses ?? [];
        return {
          name: metadata.name,
          ready: container?.ready ?? false,
          containerId: container?.containerID?.replace('containerd://', '') ?? '',
          restarts: container?.restartCount ?? 0,
        };
      });
  }

  /** The name of the pod that leads; empty where none does. */
  async leader(): Promise<string> {
    const holder = await this.kubectl(`get lease/${OPERATOR} --output jsonpath={.spec.holderIdentity}`);
    return holder.split('_')[0] ?? '';
  }

  /** Kills its processes from outside, as the kernel does when memory is short. */
  async kill({ containerId }: OperatorPod): Promise<void> {
    await this.#onNode('ctr', [
      ...['--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io'],
      ...['tasks', 'kill', '--signal', 'SIGKILL', containerId],
    ]);
  }

  /**
   * How long ago its first process was started, and how long it has had a CPU since, in milliseconds: by the kernel,
   * where Kubernetes rounds to seconds.
   */
  async age({ containerId }: OperatorPod): Promise<{ readonly ms: number; readonly cpuMs: number }> {
    const pid = await this.#pidOf(containerId);
    const read = await this.#onNode('cat', ['/proc/uptime', `/proc/${pid}/stat`]);
    const [uptime = '', stat = ''] = read.split('\n');
    // proc(5), from field 2 on, a name in brackets that may hold spaces: fields 14, 15 and 22, in ticks.
    const fields = stat.slice(stat.lastIndexOf(')')).split(' ');
    const [user, system, start] = [12, 13, 20].map((n) => (Number(fields[n]) * 1000) / TICKS_PER_SECOND);
    return {
      ms: Number(uptime.split(' ')[0]) * 1000 - (start ?? 0),
      cpuMs: (user ?? 0) + (system ?? 0),
    };
  }

  /** Of its first process, as the node knows it. */
  async #pidOf(containerId: string): Promise<string> {
    const ctr = ['--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io', 'tasks', 'list'];
    const task = (await this.#onNode('ctr', ctr)).split('\n').find((line) => line.startsWith(containerId));
    return task?.split(/ +/)[1] ?? '';
  }

  /** Evicts a pod as a drain does, which asks again as long as the budget does not allow it. */
  async evict({ name }: OperatorPod): Promise<void> {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: OPERATOR } };
    const path = `/api/v1/namespaces/${OPERATOR}/pods/${name}/eviction`;
    await eventually(`${name} may be evicted`, async () => {
      const args = ['create', '--raw', path, '-f', '-'];
      return (await this.#cluster.kubectl(args, { input: JSON.stringify(eviction) })).code === 0;
    });
  }

  /** A program's output, run on the node. */
  async #onNode(command: string, args: readonly string[]): Promise<string> {
    const { own } = this.#cluster;
    if (own === undefined) throw new Error('the node is not ours');
    const { command: enter, args: all } = own.machine.inside({ command, args });
    const { code, stdout, stderr } = await runCommand(enter, all, { PATH: searchPath() }, '');
    if (code !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
    return stdout;
  }
}
