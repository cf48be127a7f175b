import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterRange } from '../network/ipam/cluster-ranges.ts';
import type { MeshStep } from './bridge-plan.ts';
import { type Leftover, type NodeState, withoutRulesOf } from './leftovers.ts';
import { bridgeOfTunnel, type NodeLinks, parseLinks, tunnelName } from './links.ts';
import type { Programs } from './programs.ts';
import { isMissing, readIfThere, replaceFile } from './replace-file.ts';
import { parseRoutes } from './routes.ts';
import { SLICES } from './slice-ipam.ts';

/** Where host-local stores assigned addresses by default: one directory for each network. */
const ADDRESSES = 'var/lib/cni/networks';
const CNI_NETWORK = /^[-a-z0-9]+\.[-a-z0-9]+$/;

/** The node of this process. Its file system is at `root`, and has `ip`, `bridge` and `iptables`. */
export class Host {
  readonly #root: string;
  readonly #programs: Programs;

  constructor(root: string, programs: Programs) {
    this.#root = root;
    this.#programs = programs;
  }

  /** The operator's interfaces and the addresses of the others. */
  async links(): Promise<NodeLinks> {
    const addresses = await this.#programs('ip', ['-json', '-details', 'address', 'show']);
    return parseLinks(addresses, await this.#programs('bridge', ['-json', 'fdb', 'show']));
  }

  /** The bridges and CNI networks of the node. */
  async state(): Promise<NodeState> {
    const { bridges, tunnels, pods } = await this.links();
    const networks = (await this.#entries(ADDRESSES)).filter((name) => CNI_NETWORK.test(name));
    const names = new Set([...bridges.keys(), ...Array.from(tunnels.keys(), bridgeOfTunnel)]);
    return {
      bridges: Array.from(names, (name) => ({ name, ports: pods.get(name) ?? 0 })),
      networks,
    };
  }

  /**
   * Removes what a deleted Network left. Deletes the bridge last, because a failure is retried while the bridge
   * exists.
   */
  async remove({ bridge, networks }: Leftover): Promise<void> {
    for (const name of networks) {
      await rm(join(this.#root, ADDRESSES, name), { recursive: true, force: true });
    }
    for (const iptables of networks.length === 0 ? [] : ['iptables', 'ip6tables']) {
      const script = withoutRulesOf(networks, await this.#programs(`${iptables}-save`, ['-t', 'nat']));
      if (script !== undefined) await this.#programs(`${iptables}-restore`, ['--noflush'], script);
    }
    const { tunnels, bridges } = await this.links();
    const tunnel = tunnelName(bridge);
    if (tunnels.has(tunnel)) await this.#programs('ip', ['link', 'delete', tunnel]);
    if (bridges.has(bridge)) await this.#programs('ip', ['link', 'delete', bridge]);
  }

  /** The routes of the main table, without default routes and the operator's own. */
  async routes(): Promise<readonly ClusterRange[]> {
    const [four, six] = [
      await this.#programs('ip', ['-json', 'route', 'show']),
      await this.#programs('ip', ['-6', '-json', 'route', 'show']),
    ];
    return [...parseRoutes(four), ...parseRoutes(six)];
  }

  /**
   * Executes a step.
   * @throws Error with the program's output if a line fails; the lines before it stay in effect.
   */
  async take({ ip, bridge }: MeshStep): Promise<void> {
    if (ip.length > 0) await this.#programs('ip', ['-batch', '-'], `${ip.join('\n')}\n`);
    if (bridge.length > 0) await this.#programs('bridge', ['-batch', '-'], `${bridge.join('\n')}\n`);
  }

  /** Writes the node's slices, by bridge. Deletes the others, except those that `isKept` keeps. */
  async keepSlices(
    slices: ReadonlyMap<string, string>,
    isKept: (bridge: string) => boolean = () => false,
  ): Promise<void> {
    for (const name of await this.#entries(SLICES)) {
      if (!slices.has(name) && !isKept(name)) await rm(join(this.#root, SLICES, name), { force: true });
    }
    for (const [name, text] of slices) {
      const path = join(this.#root, SLICES, name);
      if ((await readIfThere(path)) !== text) await replaceFile(path, text);
    }
  }

  /** The entries of a directory; empty if it does not exist. */
  async #entries(directory: string): Promise<readonly string[]> {
    try {
      return await readdir(join(this.#root, directory));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }
}
