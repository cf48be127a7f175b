import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import { keyOf } from '../../../src/kube/api/object.ts';
import { installPlugins } from '../../../src/networks/agent/cni-plugins.ts';
import { agentNetwork } from '../../../src/networks/agent/desired.ts';
import { Host } from '../../../src/networks/agent/host.ts';
import { type RunProgram, run } from '../../../src/networks/agent/programs.ts';
import { type Outcome, Reconciler } from '../../../src/networks/agent/reconciler.ts';
import { NODE_IPAM } from '../../../src/networks/api/names.ts';
import type { Network, NetworkNode, NetworkStatus } from '../../../src/networks/api/types.ts';
import { bridgeName } from '../../../src/networks/multus/cni-config.ts';
import { CNI_PLUGINS } from '../../env/cluster/requirements.ts';
import { searchPath } from '../../env/cluster/search-path.ts';

/** Directories in which what a node keeps must not be this machine's. */
const OWN_DIRECTORIES = ['/run', '/opt', '/var/lib/cni'];
/** How long a Network stays on a node that does not need it. */
export const LINGER_MS = 120_000;

/** A process with a network of its own, which is gone when the process is. */
export class Space {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async start(script = ':'): Promise<Space> {
    const held = `${script}; ip link set lo up; echo ready; exec sleep infinity`;
    const child = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'unshare', '--net', '--mount', 'sh', '-ec', held],
      {
        env: { PATH: searchPath() },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    if (line !== 'ready') throw new Error(`a network of its own cannot be had: ${line}`);
    return new Space(child);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Its file system, as it is seen from here. */
  get root(): string {
    return `/proc/${this.pid}/root`;
  }

  readonly run: RunProgram = (program, args, input) =>
    run('nsenter', ['--target', `${this.pid}`, '--net', '--mount', program, ...args], input);

  /** Runs lines of words; rejects at the first that fails. */
  sh(lines: string): Promise<string> {
    return this.run('sh', ['-ec', lines]);
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    await once(this.#process, 'close');
  }
}

/** Pings that go on, ten a second. */
export class Pings {
  readonly #process: ChildProcess;
  readonly #output: string[] = [];

  constructor(space: Space, address: string) {
    const args = ['--target', `${space.pid}`, '--net', 'busybox', 'ping', '-i', '0.1', address];
    this.#process = spawn('nsenter', args, {
      env: { PATH: searchPath() },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process.stdout?.on('data', (chunk: Buffer) => this.#output.push(chunk.toString()));
  }

  /** The sequence numbers of the answers. */
  answers(): readonly number[] {
    return Array.from(this.#output.join('').matchAll(/seq=(\d+)/g), ([, number]) => Number(number));
  }

  /** Ends them. Resolves with the numbers of those before the last answer that had none. */
  async lost(): Promise<readonly number[]> {
    const before = this.answers().length;
    while (this.answers().length < before + 3) await once(this.#process.stdout ?? process, 'data');
    this.#process.kill('SIGINT');
    await once(this.#process, 'close');
    const answers = new Set(this.answers());
    return Array.from({ length: Math.max(...answers) }, (_, number) => number).filter(
      (number) => !answers.has(number),
    );
  }
}

/** A pod on one network of a node, by the CNI plugins that the agent has seen to. */
export interface LabPod {
  readonly space: Space;
  /** As CNI has given them, with the lengths of the prefixes. */
  readonly addresses: readonly string[];
  /** The annotation's words that CNI was called with. */
  readonly config: LabConfig;
  /** Whether it gets an answer to one ping of so many bytes, from this address. */
  reaches(address: string, bytes?: number): Promise<boolean>;
}

const trimmed = (text: string) => text.trim();

/** What CNI is told. */
export type LabConfig = Readonly<Record<string, unknown>>;

/** A node as far as networks go: a network, file systems, CNI plugins, and the node agent's own code. */
export class LabNode {
  readonly name: string;
  readonly space: Space;
  readonly host: Host;
  readonly #lab: MeshLab;
  readonly #pods: Space[] = [];
  #agent: Reconciler;

  constructor(name: string, space: Space, address: string, lab: MeshLab) {
    this.name = name;
    this.space = space;
    this.#lab = lab;
    this.host = new Host({
      root: space.root,
      run: space.run,
      settings: {
        get: (name) => space.sh(`cat /proc/sys/net/${name}`).then(trimmed, () => undefined),
        set: async (name, value) => void (await space.sh(`echo ${value} >/proc/sys/net/${name}`)),
      },
    });
    this.#agent = this.#start(address);
  }

  /** Runs a line of words on it. */
  sh(line: string): Promise<string> {
    return this.space.sh(line);
  }

  /** One round of the agent. */
  sync(): Promise<Outcome> {
    return this.#agent.sync();
  }

  /** Ends the agent and starts another, with this address of the node. */
  restart(address: string, port = 4789): void {
    this.#agent = this.#start(address, port);
  }

  /** Starts a pod with these addresses. Rejects with what CNI said where that does not go. */
  async startPod(network: Network, ips: readonly string[]): Promise<LabPod> {
    const runtimeConfig = ips.length === 0 ? {} : { runtimeConfig: { ips } };
    return this.startPodBy({ ...labConfig(network), ...runtimeConfig });
  }

  /** Starts a pod of the namespace by this configuration of CNI. */
  async startPodBy(config: LabConfig, namespace = 'default'): Promise<LabPod> {
    const space = await Space.start();
    this.#pods.push(space);
    const result = await this.#cni('ADD', space, config, namespace).catch(async (error: unknown) => {
      // As a container runtime does.
      await this.#cni('DEL', space, config, namespace);
      throw error;
    });
    const given: readonly { readonly address: string }[] = JSON.parse(result).ips;
    return {
      space,
      config,
      addresses: given.map(({ address }) => address),
      reaches: (other, bytes = 56) =>
        space.run('busybox', ['ping', '-c', '1', '-W', '5', '-s', `${bytes}`, other]).then(
          () => true,
          () => false,
        ),
    };
  }

  /** Takes a pod off the network. */
  async stopPod({ space, config }: LabPod): Promise<void> {
    await this.#cni('DEL', space, config);
    await space.stop();
    this.#pods.splice(this.#pods.indexOf(space), 1);
  }

  async stop(): Promise<void> {
    for (const space of [...this.#pods, this.space]) await space.stop();
  }

  #start(address: string, port = 4789): Reconciler {
    return new Reconciler({
      host: this.host,
      underlay: { device: undefined, address },
      port,
      syncIntervalMs: 0,
      unusedBridgeTtlMs: LINGER_MS,
      nowMs: () => this.#lab.nowMs,
      networks: () => [...this.#lab.networks.values()].map((network) => agentNetwork(network, this.name)),
      log: pino({ level: process.env.LAB_LOG ?? 'silent' }),
    });
  }

  /** Calls the plugin as libcni does, which puts the keys of JSON in order. */
  async #cni(command: string, pod: Space, config: LabConfig, namespace = 'default'): Promise<string> {
    const ordered = Object.fromEntries(Object.entries(config).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const variables = [
      `CNI_COMMAND=${command}`,
      `CNI_CONTAINERID=pod-${pod.pid}`,
      `CNI_NETNS=/proc/${pod.pid}/ns/net`,
      'CNI_IFNAME=net1',
      'CNI_PATH=/opt/cni/bin',
      `CNI_ARGS='IgnoreUnknown=true;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=pod-${pod.pid}'`,
      `PATH=${searchPath()}`,
    ];
    // What went wrong a plugin says on standard output.
    const script = `out=$(env ${variables.join(' ')} /opt/cni/bin/bridge) || { echo "$out" >&2; exit 1; }; echo "$out"`;
    return this.space.run('sh', ['-c', script], JSON.stringify(ordered));
  }
}

/** Nodes on one wire. */
export class MeshLab {
  readonly nodes = new Map<string, LabNode>();
  /** What the API server has, by name. */
  readonly networks = new Map<string, Network>();
  nowMs = 0;
  readonly wire: Space;

  private constructor(wire: Space) {
    this.wire = wire;
  }

  static async start(): Promise<MeshLab> {
    const lab = new MeshLab(await Space.start());
    await lab.wire.sh('ip link add wire type bridge && ip link set wire up');
    return lab;
  }

  /** Adds a node: its addresses on the wire are 192.0.2.NUMBER and 2001:db8::NUMBER. */
  async addNode(name: string, number: number): Promise<LabNode> {
    const mounts = OWN_DIRECTORIES.map((path) => `mkdir -p ${path} && mount -t tmpfs tmpfs ${path}`);
    const space = await Space.start(mounts.join(' && '));
    const node = new LabNode(name, space, `192.0.2.${number}`, this);
    this.nodes.set(name, node);
    await this.wire.sh(
      `ip link add n${number} type veth peer name eth0 netns ${space.pid} && ip link set n${number} master wire up`,
    );
    await space.sh(
      `ip address add 192.0.2.${number}/24 dev eth0 && ip address add 2001:db8::${number}/64 dev eth0 nodad && ip link set eth0 up`,
    );
    await installPlugins({ directory: `${space.root}/opt/cni/bin`, source: CNI_PLUGINS });
    return node;
  }

  /** Ends a node. It is plugged out first: what it sends at its end would be heard as if it were there. */
  async removeNode(name: string, number: number): Promise<void> {
    await this.plug(number, false);
    await this.nodes.get(name)?.stop();
    this.nodes.delete(name);
  }

  /** Plugs the node of the number out, or in again. */
  async plug(number: number, isIn: boolean): Promise<void> {
    await this.wire.sh(`ip link set n${number} ${isIn ? 'master wire' : 'nomaster'}`);
  }

  /** What the operator writes into the status of the Network. */
  tell(name: string, status: NetworkStatus | undefined): Network {
    const network = {
      metadata: { name, namespace: 'default', uid: `uid-of-${name}` },
      spec: { cidr: status?.cidr ?? '', gateway: status?.gateway ?? '' },
      ...(status && { status }),
    };
    this.networks.set(name, network);
    return network;
  }

  /** One round of every agent. */
  async sync(): Promise<readonly Outcome[]> {
    return Promise.all(Array.from(this.nodes.values(), (node) => node.sync()));
  }

  /** Rounds until what nobody needs is gone. */
  async linger(): Promise<void> {
    await this.sync();
    this.nowMs += LINGER_MS;
    await this.sync();
  }

  async stop(): Promise<void> {
    for (const node of this.nodes.values()) await node.stop();
    await this.wire.stop();
  }
}

/** `{ a: 1 }` is node a with the address 192.0.2.1. */
export function labNodes(numbers: Readonly<Record<string, number>>): readonly NetworkNode[] {
  return Object.entries(numbers).map(([name, number]) => ({ name, address: `192.0.2.${number}` }));
}

/** The definition of a Network. */
export function labConfig(network: Network): LabConfig {
  return {
    cniVersion: '1.0.0',
    name: keyOf(network).replace('/', '.'),
    type: 'bridge',
    bridge: bridgeName(keyOf(network)),
    isGateway: false,
    ipMasq: false,
    hairpinMode: true,
    mtu: network.status?.mtu,
    capabilities: { ips: true, mac: true },
    ipam: { type: NODE_IPAM },
  };
}
