import type { Logger } from 'pino';
import { formatRange } from '../cidr.ts';
import type { JoinedNetwork } from '../cni-config.ts';
import type { NodeReport } from '../node-report.ts';
import { digestOf, own, parseTable } from '../node-table.ts';
import { sliceCount } from '../slices.ts';
import type { Host } from './host.ts';
import { tunnelName } from './links.ts';
import { type MeshStep, meshPlan } from './mesh-plan.ts';
import { slicesText } from './slice-ipam.ts';
import { type Reachable, underlayOf } from './underlay.ts';

export interface JoinerOptions {
  /** The node's name. */
  readonly node: string;
  readonly host: Pick<Host, 'links' | 'take' | 'keepSlices'>;
  /** The table of nodes, as it was written; undefined where there is none. */
  readonly table: () => string | undefined;
  readonly networks: () => readonly JoinedNetwork[];
  readonly log: Logger;
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
    const joined = await this.#joinAll(number, underlay);
    return { number, table: digestOf(text), ...joined };
  }

  async #joinAll(number: number, underlay: Reachable): Promise<Pick<NodeReport, 'networks' | 'problem'>> {
    const { host, networks } = this.#options;
    const problems = underlay.unreachable.map(
      (name) => `node ${name} has no address of the family of ${underlay.local}`,
    );
    const all = networks();
    const sliced = all.flatMap((network) => {
      const text = slicesText(network, number);
      return text === undefined ? [] : [{ network, text }];
    });
    const failed = await this.#mend(all, underlay);
    problems.push(...failed.values());
    // Last: a pod that gets an address is on a network that is joined.
    const done = sliced.filter(({ network }) => !failed.has(tunnelName(network.bridge)));
    await host.keepSlices(new Map(done.map(({ network, text }) => [network.bridge, text])));
    for (const { key, range } of all.filter((network) => !sliced.some((one) => one.network === network))) {
      problems.push(`${key}: ${formatRange(range)} has addresses for ${sliceCount(range) - 1} nodes only`);
    }
    const isPart = underlay.unreachable.length === 0;
    const reported = isPart ? done.map(({ network: { key, digest } }) => [key, digest]) : [];
    const [problem] = problems;
    return { networks: Object.fromEntries(reported), ...(problem !== undefined && { problem }) };
  }

  /** Brings the tunnels to where they should be; what keeps it from that, by tunnel. */
  async #mend(networks: readonly JoinedNetwork[], underlay: Reachable): Promise<ReadonlyMap<string, string>> {
    const { host } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const failed = new Map<string, string>();
      for (const step of meshPlan(networks, underlay, await host.links())) {
        const problem = await this.#take(step);
        if (problem !== undefined) failed.set(step.tunnel, problem);
      }
      // What the kernel learns and forgets by itself may have changed in between.
      if (failed.size === 0 || attempt === ATTEMPTS) return failed;
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
