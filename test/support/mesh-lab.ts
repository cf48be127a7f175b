import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import { formatRange } from '../../src/network/ipam/cidr.ts';
import { nextTable } from '../../src/network/nodes/node-table.ts';
import type { OldNodeReport as NodeReport } from '../../src/network/nodes/old-report.ts';
import { type MeshNetwork, meshNetwork } from '../../src/network/providers/multus/cni-config.ts';
import { installPlugins } from '../../src/node-agent/cni-plugins.ts';
import { Host } from '../../src/node-agent/host.ts';
import { Joiner } from '../../src/node-agent/joiner.ts';
import { type Programs, run } from '../../src/node-agent/programs.ts';
import { CNI_PLUGINS } from '../env/cluster/requirements.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { oldCniConfig } from './old-definitions.ts';

/** Directories in which what a node keeps must not be this machine's. */
const OWN_DIRECTORIES = ['/run', '/opt', '/var/lib/cni'];

/** A process with a network of its own, which is gone when the process is. */
class Space {
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

  readonly programs: Programs = (program, args, input) =>
    run('nsenter', ['--target', `${this.pid}`, '--net', '--mount', program, ...args], input);

  /** Runs a line of words. */
  sh(line: string): Promise<string> {
    return this.programs('sh', ['-c', line]);
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    await once(this.#process, 'close');
  }
}

/** A pod on one network of a node, by the CNI plugins that the agent has seen to. */
export interface LabPod {
  readonly space: Space;
  /** As CNI has given it, with the length of the prefix. */
  readonly address: string;
  /** Whether it gets an answer to one ping of so many bytes, from this address. */
  reaches(address: string, bytes?: number): Promise<boolean>;
}

/** A node as far as networks go: a network, file systems, CNI plugins, and the node agent's own code. */
export class LabNode {
  readonly space: Space;
  readonly host: Host;
  readonly #joiner: Joiner;
  readonly #pods: Space[] = [];

  constructor(name: string, space: Space, lab: MeshLab) {
    this.space = space;
    this.host = new Host(space.root, space.programs);
    this.#joiner = new Joiner({
      node: name,
      host: this.host,
      table: () => lab.table,
      networks: () => lab.networks,
      needed: () => lab.needed,
      log: pino({ level: 'silent' }),
    });
  }

  /** Runs a line of words on it. */
  sh(line: string): Promise<string> {
    return this.space.sh(line);
  }

  /** One round of the agent. */
  join(): Promise<NodeReport> {
    return this.#joiner.join();
  }

  /** Starts one, with an address of its choice or without. Rejects with what CNI said where that does not go. */
  async startPod(network: MeshNetwork, chosen?: string): Promise<LabPod> {
    const space = await Space.start();
    this.#pods.push(space);
    const result = await this.#cni('ADD', space, network, chosen).catch(async (error: unknown) => {
      // As a container runtime does.
      await this.#cni('DEL', space, network);
      throw error;
    });
    const { address } = JSON.parse(result).ips[0];
    return {
      space,
      address,
      reaches: (other, bytes = 56) =>
        space.programs('busybox', ['ping', '-c', '1', '-W', '5', '-s', `${bytes}`, other]).then(
          () => true,
          () => false,
        ),
    };
  }

  /** Takes a pod off the network. */
  async stopPod({ space }: LabPod, network: MeshNetwork): Promise<void> {
    await this.#cni('DEL', space, network);
    await space.stop();
    this.#pods.splice(this.#pods.indexOf(space), 1);
  }

  async stop(): Promise<void> {
    for (const space of [...this.#pods, this.space]) await space.stop();
  }

  /** Calls the plugin as libcni does, which puts the keys of JSON in order. */
  async #cni(command: string, pod: Space, network: MeshNetwork, chosen?: string): Promise<string> {
    const { key, range, gateway, mtu, vni } = network;
    const subnet = { cidr: formatRange(range), gateway, mtu };
    const { cniVersion, name, plugins } = JSON.parse(oldCniConfig(key, subnet, vni));
    const runtimeConfig = chosen === undefined ? {} : { runtimeConfig: { ips: [chosen] } };
    const config = { ...plugins[0], cniVersion, name, ...runtimeConfig };
    const ordered = Object.fromEntries(Object.entries(config).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const variables = [
      `CNI_COMMAND=${command}`,
      `CNI_CONTAINERID=pod-${pod.pid}`,
      `CNI_NETNS=/proc/${pod.pid}/ns/net`,
      'CNI_IFNAME=net1',
      'CNI_PATH=/opt/cni/bin',
      `PATH=${searchPath()}`,
    ];
    // What went wrong a plugin says on standard output.
    const script = `out=$(env ${variables.join(' ')} /opt/cni/bin/bridge) || { echo "$out" >&2; exit 1; }; echo "$out"`;
    return this.space.programs('sh', ['-c', script], JSON.stringify(ordered));
  }
}

/** Nodes on one wire. */
export class MeshLab {
  readonly nodes = new Map<string, LabNode>();
  networks: readonly MeshNetwork[] = [];
  /** The bridges that the agents take for needed; undefined while they do not know. */
  needed: ReadonlySet<string> | undefined = new Set();
  #table = '{}';
  readonly #wire: Space;

  private constructor(wire: Space) {
    this.#wire = wire;
  }

  static async start(): Promise<MeshLab> {
    const lab = new MeshLab(await Space.start());
    await lab.#wire.sh('ip link add wire type bridge && ip link set wire up');
    return lab;
  }

  /** As the controller has written it. */
  get table(): string {
    return this.#table;
  }

  /** Adds a node: its addresses on the wire are 192.0.2.NUMBER and 2001:db8::NUMBER. */
  async addNode(name: string, number: number): Promise<LabNode> {
    const mounts = OWN_DIRECTORIES.map((path) => `mkdir -p ${path} && mount -t tmpfs tmpfs ${path}`);
    const space = await Space.start(mounts.join(' && '));
    const node = new LabNode(name, space, this);
    this.nodes.set(name, node);
    await this.#wire.sh(
      `ip link add n${number} type veth peer name eth0 netns ${space.pid} && ip link set n${number} master wire up`,
    );
    await space.sh(
      `ip address add 192.0.2.${number}/24 dev eth0 && ip address add 2001:db8::${number}/64 dev eth0 nodad && ip link set eth0 up`,
    );
    await installPlugins({ directory: `${space.root}/opt/cni/bin`, source: CNI_PLUGINS });
    this.tell((_, n) => [`192.0.2.${n}`]);
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
    await this.#wire.sh(`ip link set n${number} ${isIn ? 'master wire' : 'nomaster'}`);
  }

  /** Writes the table anew, with these addresses of the nodes. */
  tell(addressesOf: (name: string, number: number) => readonly string[]): void {
    const nodes = Array.from(this.nodes.keys(), (name, index) => ({
      name,
      uid: `uid-of-${name}`,
      addresses: addressesOf(name, index + 1),
    }));
    this.#table = JSON.stringify(nextTable(JSON.parse(this.#table), nodes, () => false));
  }

  /** One round of every agent. */
  async join(): Promise<readonly NodeReport[]> {
    return Promise.all(Array.from(this.nodes.values(), (node) => node.join()));
  }

  async stop(): Promise<void> {
    for (const node of this.nodes.values()) await node.stop();
    await this.#wire.stop();
  }
}

/** A Network as its status tells an agent of it. */
export function labNetwork(name: string, cidr: string, gateway: string, vni: number): MeshNetwork {
  const network = meshNetwork(`default/${name}`, { cidr, gateway }, { vni, mtu: 1450 });
  if (!network) throw new Error(`the Network ${name} is not one that agents join`);
  return network;
}
