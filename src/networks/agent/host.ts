import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterRange } from '../ranges/cluster-ranges.ts';
import type { Step } from './bridge-plan.ts';
import { JOINED } from './cni-plugins.ts';
import { namesIn, readIfThere, replaceFile, unlessMissing } from './files.ts';
import { passSwitched } from './firewall.ts';
import { type NodeLinks, parseLinks } from './links.ts';
import { DIGEST_CHAIN, digestIn, OWN_TABLE, type Rules } from './nftables.ts';
import type { Forwards } from './node-plan.ts';
import { type RunProgram, runBatch } from './programs.ts';
import { parseRoutes } from './routes.ts';

/** The settings of the kernel's network, by names such as `ipv4/ip_forward`. */
export interface Settings {
  /** Undefined if the kernel has no such setting. */
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

export interface HostOptions {
  /** Where the node's directories are mounted. */
  readonly root: string;
  /** Runs programs in the node's network: `ip`, `bridge` and `nft`. */
  readonly run: RunProgram;
  readonly settings: Settings;
}

const ADDS_SIX = /^address add \S*:/;

/** The settings of this process's network. What goes with its device while it is set is no failure. */
export function settingsOf(root: string): Settings {
  const path = (name: string) => join(root, 'proc/sys/net', name);
  return {
    get: async (name) => (await readIfThere(path(name)))?.trim(),
    set: (name, value) => writeFile(path(name), value).catch(unlessMissing),
  };
}

export class Host {
  readonly #root: string;
  readonly #run: RunProgram;
  readonly #settings: Settings;

  constructor({ root, run, settings }: HostOptions) {
    this.#root = root;
    this.#run = run;
    this.#settings = settings;
  }

  async links(): Promise<NodeLinks> {
    const addresses = await this.#run('ip', ['-json', '-details', 'address', 'show']);
    return parseLinks(addresses, await this.#run('bridge', ['fdb', 'show']));
  }

  /** The routes of the main table, without default routes and the operator's own. */
  async routes(): Promise<readonly ClusterRange[]> {
    const four = await this.#run('ip', ['-json', 'route', 'show']);
    return [four, await this.#run('ip', ['-6', '-json', 'route', 'show'])].flatMap(parseRoutes);
  }

  /** Replaces the operator's table of nftables, unless it is the same, and lets switched packets through iptables. */
  async setRules({ text, digest }: Rules): Promise<void> {
    const shown = await this.#run('nft', ['list', 'chain', ...DIGEST_CHAIN]).catch(() => undefined);
    const isThere = shown !== undefined;
    if (isThere ? digest === undefined || digestIn(shown) !== digest : digest !== undefined) {
      await this.#run('nft', ['-f', '-'], text);
    }
    const isCalled = async (family: 'ip' | 'ip6') =>
      (await this.#settings.get(`bridge/bridge-nf-call-${family}tables`)) === '1';
    await passSwitched(this.#run, async (family) => digest !== undefined && isCalled(family));
  }

  /** What the operator's table has counted, as `nft` prints it; empty without the table. */
  async counters(): Promise<string> {
    return this.#run('nft', ['list', 'counters', 'table', ...OWN_TABLE]).catch(() => '');
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

  /** Takes the steps. Resolves with the first failure of each bridge. */
  async take(steps: readonly Step[]): Promise<ReadonlyMap<string, string>> {
    const failed = new Map<string, string>();
    const batch = async (program: 'ip' | 'bridge', linesOf: (step: Step) => readonly string[]) => {
      const rest = steps.filter(({ bridge }) => !failed.has(bridge));
      const parts = rest.map((step) => ({ bridge: step.bridge, lines: linesOf(step) }));
      for (const [bridge, why] of await runBatch(this.#run, program, parts)) failed.set(bridge, why);
    };
    const addingSix = ({ ip }: Step) => ip.filter((line) => ADDS_SIX.test(line));
    await batch('ip', ({ ip }) => ip.filter((line) => !ADDS_SIX.test(line)));
    for (const step of steps) if (addingSix(step).length > 0) await this.#allowSix(step.bridge);
    await batch('ip', addingSix);
    await batch('bridge', ({ fdb }) => fdb);
    return failed;
  }

  /** In a container of Docker, such as a node of kind, IPv6 is disabled on devices that are made later. */
  async #allowSix(bridge: string): Promise<void> {
    const name = `ipv6/conf/${bridge}/disable_ipv6`;
    // If that fails, so does the address, whose failure is told.
    if ((await this.#settings.get(name)) === '1') await this.#settings.set(name, '0').catch(() => {});
  }

  async joined(): Promise<ReadonlySet<string>> {
    return new Set(await namesIn(join(this.#root, JOINED)));
  }

  /** Marks the bridge as joined, so that pods start on it, or as not joined. */
  async mark(bridge: string, isJoined: boolean): Promise<void> {
    const path = join(this.#root, JOINED, bridge);
    if (isJoined) await replaceFile(path, '');
    else await rm(path, { force: true });
  }
}
