import { createHash } from 'node:crypto';
import { readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterRange } from '../ipam/cluster-ranges.ts';
import type { Step } from './bridge-plan.ts';
import { JOINED, SLICES } from './cni/cni-plugins.ts';
import { hasCode, isMissing, readIfThere, replaceFile, unlessMissing } from './files.ts';
import { passSwitched } from './firewall.ts';
import { type NodeLinks, parseLinks, parseRemoteEntries, type RemoteEntries, remoteText } from './links.ts';
import { DIGEST_CHAIN, digestIn, OWN_TABLE, type Rules } from './nftables.ts';
import type { Forwards } from './node-plan.ts';
import { type Programs, runBatch } from './programs.ts';
import { parseRoutes } from './routes.ts';

/** Where host-local, which the previous release used, stores assigned addresses: one directory for each network. */
const BOOKS = 'var/lib/cni/networks';
/** What counts by itself: the lifetimes of addresses, and the timers of bridges. */
const COUNTERS = /"(valid_life_time|preferred_life_time|\w+_timer)":[\d.]+/g;
/** The lines of a batch are in memory several times. A node with many Networks has tens of thousands. */
const STEPS_AT_ONCE = 8;
/** The files of a book that are not addresses. */
const NO_ADDRESS = /^(lock|last_reserved_ip\.\d+)$/;

/** The settings of the kernel's network, by names such as `ipv4/ip_forward`. */
export interface Settings {
  /** Undefined if the kernel has no such setting. */
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

/** What programs have printed about a node. To parse it takes longer than to print it. */
export interface Inspection {
  /** The same if nothing has changed. */
  readonly digest: string;
  /** The operator's interfaces and the others. */
  readonly links: () => NodeLinks;
  /** The routes of the main table, without default routes and the operator's own. */
  readonly routes: () => readonly ClusterRange[];
}

export interface HostOptions {
  /** Where the node's directories are mounted. */
  readonly root: string;
  /** Programs in the node's network: `ip`, `bridge` and `nft`. */
  readonly programs: Programs;
  readonly settings: Settings;
}

/** The settings of this process's network. What goes with its device while it is set is no failure. */
export function settingsOf(root: string): Settings {
  const path = (name: string) => join(root, 'proc/sys/net', name);
  return {
    get: async (name) => (await readIfThere(path(name)))?.trim(),
    set: (name, value) => writeFile(path(name), value).catch(unlessMissing),
  };
}

/** @throws the error, unless it says that a device does not exist any more */
function emptyIfGone(error: unknown): string {
  if (!/Cannot find device/.test(String(error))) throw error;
  return '';
}

function digestOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex');
}

/** The node of this process. */
export class Host {
  readonly #root: string;
  readonly #programs: Programs;
  readonly #settings: Settings;

  constructor({ root, programs, settings }: HostOptions) {
    this.#root = root;
    this.#programs = programs;
    this.#settings = settings;
  }

  /** Reads the node; with the forwarding entries of these tunnels alone, if there are any. */
  async inspect(tunnels?: readonly string[]): Promise<Inspection> {
    const { run } = this.#programs;
    const addresses = await run('ip', ['-json', '-details', 'address', 'show']);
    const remote = await this.#remoteEntries(addresses, tunnels);
    const routes = [
      await run('ip', ['-json', 'route', 'show']),
      await run('ip', ['-6', '-json', 'route', 'show']),
    ];
    return {
      digest: digestOf([addresses.replaceAll(COUNTERS, ''), remoteText(remote), ...routes]),
      links: () => parseLinks(addresses, remote),
      routes: () => routes.flatMap(parseRoutes),
    };
  }

  /** The operator's interfaces and the others. */
  async links(): Promise<NodeLinks> {
    return (await this.inspect()).links();
  }

  async #remoteEntries(addresses: string, tunnels: readonly string[] | undefined): Promise<RemoteEntries> {
    const { run } = this.#programs;
    if (tunnels === undefined) return parseRemoteEntries(await run('bridge', ['fdb', 'show']));
    const { tunnels: there } = parseLinks(addresses, new Map());
    const found: (readonly [string, NonNullable<ReturnType<RemoteEntries['get']>>])[] = [];
    for (const name of tunnels.filter((one) => there.has(one))) {
      const output = await run('bridge', ['fdb', 'show', 'dev', name]).catch(emptyIfGone);
      found.push(...parseRemoteEntries(output, name));
    }
    return new Map(found);
  }

  /** Replaces the operator's table of nftables, unless it is the same, and lets switched packets through iptables. */
  async setRules({ text, digest }: Rules): Promise<void> {
    const shown = await this.#programs.run('nft', ['list', 'chain', ...DIGEST_CHAIN]).catch(() => undefined);
    const isThere = shown !== undefined;
    if (isThere ? digest === undefined || digestIn(shown) !== digest : digest !== undefined) {
      await this.#programs.run('nft', ['-f', '-'], text);
    }
    const isCalled = async (family: 'ip' | 'ip6') =>
      (await this.#settings.get(`bridge/bridge-nf-call-${family}tables`)) === '1';
    await passSwitched(this.#programs.run, async (family) => digest !== undefined && isCalled(family));
  }

  /** What the operator's table has counted, as `nft` prints it; empty without the table. */
  async counters(): Promise<string> {
    return await this.#programs.run('nft', ['list', 'counters', 'table', ...OWN_TABLE]).catch(() => '');
  }

  /**
   * Makes the node forward packets: of IPv4, and those of IPv6 that come from these devices. The setting for all devices
   * makes the node a router, which ignores the router advertisements that its own routes may come from. So it is used
   * only if the kernel has none for one device (before Linux 6.17).
   */
  async forward({ ipv4, ipv6 }: Forwards): Promise<void> {
    if (ipv4) await this.#enable('ipv4/ip_forward');
    if (ipv6.length === 0 || (await this.#settings.get('ipv6/conf/all/forwarding')) === '1') return;
    const isPerDevice = (await this.#settings.get('ipv6/conf/all/force_forwarding')) !== undefined;
    if (!isPerDevice) return this.#enable('ipv6/conf/all/forwarding');
    for (const device of ipv6) await this.#enable(`ipv6/conf/${device}/force_forwarding`);
  }

  /** Writes only what differs, because settings may be read-only. A device may be gone. */
  async #enable(name: string): Promise<void> {
    if ((await this.#settings.get(name)) === '0') await this.#settings.set(name, '1');
  }

  /** Takes the steps. Resolves with the failures by bridge. */
  async take(steps: readonly Step[]): Promise<ReadonlyMap<string, string>> {
    const failed: [string, string][] = [];
    for (let from = 0; from < steps.length; from += STEPS_AT_ONCE) {
      failed.push(...(await this.#takeSome(steps.slice(from, from + STEPS_AT_ONCE))));
    }
    return new Map(failed);
  }

  async #takeSome(steps: readonly Step[]): Promise<ReadonlyMap<string, string>> {
    for (const { bridge } of steps.filter(({ movesGateway }) => movesGateway)) {
      // Pods hear of the new hardware address at once.
      await this.#enable(`ipv4/conf/${bridge}/arp_notify`);
      await this.#enable(`ipv6/conf/${bridge}/ndisc_notify`);
    }
    const ip = steps.map(({ bridge, ip: lines }) => ({ bridge, lines }));
    const failed = await runBatch(this.#programs.run, 'ip', ip);
    const fdb = steps
      .filter(({ bridge }) => !failed.has(bridge))
      .map(({ bridge, fdb: lines }) => ({ bridge, lines }));
    return new Map([...failed, ...(await runBatch(this.#programs.run, 'bridge', fdb))]);
  }

  /** The bridges that are marked as joined. */
  async joined(): Promise<ReadonlySet<string>> {
    return new Set(await this.#entries(JOINED));
  }

  /** Marks the bridge as joined, so that pods start on it, or as not joined. */
  async mark(bridge: string, isJoined: boolean): Promise<void> {
    const path = join(this.#root, JOINED, bridge);
    if (isJoined) await replaceFile(path, '');
    else await rm(path, { force: true });
  }

  /**
   * Removes what the previous release left: the slices of Networks that are gone, and books without addresses of
   * these Networks, `namespace.name`.
   */
  async removeLeftovers(
    isGone: (bridge: string) => boolean,
    isBook: (name: string) => boolean,
  ): Promise<void> {
    for (const bridge of await this.#entries(SLICES)) {
      if (isGone(bridge)) await rm(join(this.#root, SLICES, bridge), { force: true });
    }
    for (const name of (await this.#entries(BOOKS)).filter(isBook)) {
      const files = await this.#entries(join(BOOKS, name));
      if (!files.every((file) => NO_ADDRESS.test(file))) continue;
      for (const file of files) await rm(join(this.#root, BOOKS, name, file), { force: true });
      // A plugin may have written an address meanwhile.
      await rmdir(join(this.#root, BOOKS, name)).catch((error: unknown) => {
        if (!hasCode(error, 'ENOTEMPTY')) unlessMissing(error);
      });
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
