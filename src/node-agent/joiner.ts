import type { Logger } from '../kube/util/log.ts';
import { formatRange } from '../network/ipam/cidr.ts';
import { meshMtu } from '../network/nodes/mesh-network.ts';
import { digestOf, own, parseTable } from '../network/nodes/node-table.ts';
import type { OldNodeReport as NodeReport } from '../network/nodes/old-report.ts';
import { sliceCount } from '../network/nodes/slices.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';
import { hasGateway, type MeshStep, meshPlan } from './bridge-plan.ts';
import type { Host } from './host.ts';
import { tunnelName } from './links.ts';
import { conflictsOf } from './routes.ts';
import { slicesText } from './slice-ipam.ts';
import { type Reachable, underlayOf } from './underlay.ts';

export interface JoinerOptions {
  /** The name of the node. */
  readonly node: string;
  readonly host: Pick<Host, 'links' | 'routes' | 'take' | 'keepSlices'>;
  /** The stored table of nodes; undefined if it does not exist. */
  readonly table: () => string | undefined;
  /** The Networks, from their status. `mtu` is the default MTU. */
  readonly networks: (mtu: number) => readonly MeshNetwork[];
  /** The bridges that may be needed, whose slices stay; undefined while unknown. */
  readonly needed: () => ReadonlySet<string> | undefined;
  readonly log: Logger;
}

interface TunnelResult {
  readonly failed: ReadonlyMap<string, string>;
  readonly conflicts: readonly string[];
}

/** Attempts in one round. */
const ATTEMPTS = 2;

/** Joins the networks of a node with those of the other nodes, and writes its slices of addresses. */
export class Joiner {
  readonly #options: JoinerOptions;

  constructor(options: JoinerOptions) {
    this.#options = options;
  }

  /**
   * Reconciles the node with the table and the Networks, and resolves with the report. A Network that fails is
   * retried in the next round and does not delay the others.
   * @throws Error if the state of the node cannot be read.
   */
  async join(): Promise<NodeReport> {
    const { node, host } = this.#options;
    const text = this.#options.table();
    const table = parseTable(text);
    const number = table && own(table, node)?.number;
    const underlay = table && underlayOf(table, node);
    if (text === undefined || number === undefined || !underlay) {
      const problem = table && own(table, node) ? 'it has no InternalIP' : 'it has no number yet';
      // Without a number, its addresses might belong to another node.
      await host.keepSlices(new Map());
      return { table: '', networks: {}, problem };
    }
    const joined = await this.#joinAll(number, underlay, this.#options.networks(meshMtu(table)));
    return { number, table: digestOf(text), ...joined };
  }

  async #joinAll(
    number: number,
    underlay: Reachable,
    all: readonly MeshNetwork[],
  ): Promise<Pick<NodeReport, 'networks' | 'problem'>> {
    const { host } = this.#options;
    const needed = this.#options.needed();
    const problems = underlay.unreachable.map(
      (name) => `node ${name} has no address of the family of ${underlay.local}`,
    );
    const sliced = all.flatMap((network) => {
      const text = slicesText(network, number);
      return text === undefined ? [] : [{ network, text }];
    });
    const { failed, conflicts } = await this.#joinTunnels(all, underlay);
    problems.push(...failed.values(), ...conflicts);
    // Last, so that a pod gets an address only on a joined network.
    const done = sliced.filter(({ network }) => !failed.has(tunnelName(network.bridge)));
    const known = new Set(all.map(({ bridge }) => bridge));
    await host.keepSlices(
      new Map(done.map(({ network, text }) => [network.bridge, text])),
      (bridge) => !known.has(bridge) && (needed?.has(bridge) ?? true),
    );
    const hasSlice = new Set(sliced.map(({ network }) => network));
    for (const { key, range } of all.filter((network) => !hasSlice.has(network))) {
      problems.push(`${key}: ${formatRange(range)} has addresses for ${sliceCount(range) - 1} nodes only`);
    }
    const isPart = underlay.unreachable.length === 0;
    const reported = isPart ? done.map(({ network: { key, digest } }) => [key, digest]) : [];
    const [problem] = problems;
    return { networks: Object.fromEntries(reported), ...(problem !== undefined && { problem }) };
  }

  /**
   * Reconciles the tunnels. Resolves with the failures by tunnel, and with the conflicts of ranges that the node
   * already has, which stay in place.
   */
  async #joinTunnels(networks: readonly MeshNetwork[], underlay: Reachable): Promise<TunnelResult> {
    const { host } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const failed = new Map<string, string>();
      const links = await host.links();
      const conflicts = conflictsOf(networks, [...links.others, ...(await host.routes())]);
      const isNew = (network: MeshNetwork) => conflicts.has(network.key) && !hasGateway(network, links);
      for (const { key, bridge } of networks.filter(isNew)) {
        failed.set(tunnelName(bridge), `${conflicts.get(key)}: it is not created on this node`);
      }
      const refused = failed.size;
      const possible = networks.filter((network) => !isNew(network));
      for (const step of meshPlan(possible, underlay, links)) {
        const problem = await this.#take(step);
        if (problem !== undefined) failed.set(step.tunnel, problem);
      }
      // The entries that the kernel learns may have changed in between, so retry once.
      if (failed.size === refused || attempt === ATTEMPTS) {
        const kept = possible.flatMap(({ key }) => conflicts.get(key) ?? []);
        return { failed, conflicts: kept };
      }
    }
  }

  /** Takes the step. Returns the error in one line; undefined on success. */
  async #take(step: MeshStep): Promise<string | undefined> {
    const { host, log } = this.#options;
    try {
      await host.take(step);
      log.info({ ...step }, 'joined network');
      return undefined;
    } catch (err) {
      log.error({ ...step, err }, 'cannot join network');
      return (err instanceof Error ? err.message : String(err)).replaceAll('\n', ', ');
    }
  }
}
