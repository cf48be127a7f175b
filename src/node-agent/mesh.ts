import type { Logger } from '../kube/util/log.ts';
import { formatRange } from '../network/ipam/cidr.ts';
import { meshMtu } from '../network/nodes/mesh-network.ts';
import type { NodeReport } from '../network/nodes/node-report.ts';
import { digestOf, own, parseTable } from '../network/nodes/node-table.ts';
import { sliceCount } from '../network/nodes/slices.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';
import type { Host } from './host.ts';
import { tunnelName } from './links.ts';
import { hasGateway, type MeshStep, meshPlan } from './mesh-plan.ts';
import { conflictsOf } from './routes.ts';
import { slicesText } from './slice-ipam.ts';
import { type Reachable, underlayOf } from './underlay.ts';

export interface JoinerOptions {
  /** The node's name. */
  readonly node: string;
  readonly host: Pick<Host, 'links' | 'routes' | 'take' | 'keepSlices'>;
  /** The table of nodes, as it was written; undefined where there is none. */
  readonly table: () => string | undefined;
  /** As their status tells of them. `mtu` is of those that say nothing of it. */
  readonly networks: (mtu: number) => readonly MeshNetwork[];
  /** The bridges that may be needed, undefined while that is not known: addresses of one that is no Network's here stay. */
  readonly needed: () => ReadonlySet<string> | undefined;
  readonly log: Logger;
}

interface Mended {
  readonly failed: ReadonlyMap<string, string>;
  readonly conflicts: readonly string[];
}

/** Of one round. */
const ATTEMPTS = 2;

/** Joins the networks of a node with those of the other nodes, and gives it the addresses that are its own. */
export class Joiner {
  readonly #options: JoinerOptions;

  constructor(options: JoinerOptions) {
    this.#options = options;
  }

  /**
   * One round: brings the node to where the table and the Networks want it, as far as that goes, and resolves with what
   * there is to report. A Network that fails is tried again in the next round, and holds up no other.
   * @throws Error where the node cannot be looked at.
   */
  async join(): Promise<NodeReport> {
    const { node, host } = this.#options;
    const text = this.#options.table();
    const table = parseTable(text);
    const number = table && own(table, node)?.number;
    const underlay = table && underlayOf(table, node);
    if (text === undefined || number === undefined || !underlay) {
      const problem = table && own(table, node) ? 'it has no InternalIP' : 'it has no number yet';
      // Whatever address it gave out now might be another node's.
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
    const { failed, conflicts } = await this.#mend(all, underlay);
    problems.push(...failed.values(), ...conflicts);
    // Last: a pod that gets an address is on a network that is joined.
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
   * Brings the tunnels to where they should be. Resolves with what keeps it from that, by tunnel, and with what meets the
   * ranges of Networks that the node has: they stay as they are.
   */
  async #mend(networks: readonly MeshNetwork[], underlay: Reachable): Promise<Mended> {
    const { host } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const failed = new Map<string, string>();
      const links = await host.links();
      const conflicts = conflictsOf(networks, [...links.others, ...(await host.routes())]);
      const isNew = (network: MeshNetwork) => conflicts.has(network.key) && !hasGateway(network, links);
      for (const { key, bridge } of networks.filter(isNew)) {
        failed.set(tunnelName(bridge), `${conflicts.get(key)}: it is not made here`);
      }
      const refused = failed.size;
      const possible = networks.filter((network) => !isNew(network));
      for (const step of meshPlan(possible, underlay, links)) {
        const problem = await this.#take(step);
        if (problem !== undefined) failed.set(step.tunnel, problem);
      }
      // What the kernel learns and forgets by itself may have changed in between.
      if (failed.size === refused || attempt === ATTEMPTS) {
        const kept = possible.flatMap(({ key }) => conflicts.get(key) ?? []);
        return { failed, conflicts: kept };
      }
    }
  }

  /** What went wrong, in one line; undefined where nothing did. */
  async #take(step: MeshStep): Promise<string | undefined> {
    const { host, log } = this.#options;
    try {
      await host.take(step);
      log.info({ ...step }, 'joined a network');
      return undefined;
    } catch (err) {
      log.error({ ...step, err }, 'a network cannot be joined');
      return (err instanceof Error ? err.message : String(err)).replaceAll('\n', ', ');
    }
  }
}
