import type { ObjectKey } from '../../kube/api/object.ts';
import type { Logger } from '../../kube/util/log.ts';
import type { Network } from '../api/types.ts';
import { bridgeName } from '../multus/cni-config.ts';
import { type NodeReport, REPORT_VERSION } from '../nodes/node-report.ts';
import { hasGateways, type Step, UnusedBridges, unneededBridges } from './bridge-plan.ts';
import { type NodeNetwork, nodeNetworkOf } from './desired.ts';
import { FirewallWatch } from './firewall.ts';
import type { Host } from './host.ts';
import { bridgeNames, type NodeLinks, tunnelName } from './links.ts';
import { type NodePlan, nodePlan } from './node-plan.ts';
import { reportedRanges, type UnderlayChoice, underlayOf } from './routes.ts';

export interface ReconcilerOptions {
  /** The name of the node. */
  readonly node: string;
  readonly host: Host;
  readonly underlay: UnderlayChoice;
  /** The UDP port of VXLAN. */
  readonly port: number;
  /** How often to look at the whole node. */
  readonly syncIntervalMs: number;
  /** How long an unused bridge stays. */
  readonly unusedBridgeTtlMs: number;
  readonly nowMs: () => number;
  readonly networks: () => readonly Network[];
  /** The keys of all Networks; undefined while they are unknown. */
  readonly known: () => ReadonlySet<ObjectKey> | undefined;
  readonly onRemoved?: () => void;
  readonly log: Logger;
}

/** The result of a round. */
export interface Outcome {
  readonly report: NodeReport;
  /** How many Networks of this node are joined. */
  readonly joined: number;
  /** Undefined if all are joined. */
  readonly problem: string | undefined;
}

/** The Networks of a round. */
interface Wanted {
  readonly networks: readonly NodeNetwork[];
  readonly here: readonly NodeNetwork[];
  /** Whether a Network needs the bridge on this node, or may need it because its status cannot be read. */
  readonly isNeeded: (bridge: string) => boolean;
  /** Whether it is known that there is no Network of this bridge. */
  readonly isGone: (bridge: string) => boolean;
}

/** Attempts in one round: the entries that the kernel learns may change in between. */
const ATTEMPTS = 2;
/** To look at more bridges one by one costs more than to look at all. */
const FEW = 8;
const CNI_NETWORK = /^[-a-z0-9]+\.[-a-z0-9]+$/;

/** Reconciles a node with the Networks that have pods on it. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #unused: UnusedBridges;
  readonly #firewall: FirewallWatch;
  /** The text of each Network by bridge, as the node was last reconciled with. */
  #done: ReadonlyMap<string, string | undefined> = new Map();
  readonly #networks = new WeakMap<Network, NodeNetwork | undefined>();
  readonly #texts = new WeakMap<NodeNetwork, string>();
  /** The last look at the whole node; undefined if it found failures. */
  #lookedMs: number | undefined;
  /** Bridges that the last plan kept as they were. */
  #kept: readonly string[] = [];
  /** The last look at the whole node, if it found nothing to do. */
  #clean: { readonly digest: string; readonly plan: NodePlan; readonly links: NodeLinks } | undefined;
  /** The report without problems. */
  #node: NodeReport = { version: REPORT_VERSION, ranges: [], problems: {} };
  #outcome: Outcome = { report: this.#node, joined: 0, problem: undefined };

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#unused = new UnusedBridges(options.unusedBridgeTtlMs);
    this.#firewall = new FirewallWatch(options.port);
  }

  /**
   * Reconciles the Networks that have changed since the last round; from time to time, and after a failure, the whole
   * node.
   */
  async sync(): Promise<Outcome> {
    const { nowMs, syncIntervalMs, log } = this.#options;
    const wanted = this.#wanted();
    const texts = new Map(wanted.networks.map((network) => [network.bridge, this.#texts.get(network)]));
    const names = new Set([...texts.keys(), ...this.#done.keys()]);
    const changed = [...names].filter((bridge) => texts.get(bridge) !== this.#done.get(bridge));
    const startMs = nowMs();
    const isDue = this.#lookedMs === undefined || startMs - this.#lookedMs >= syncIntervalMs;
    if (!isDue && changed.length === 0) return this.#outcome;
    const few = [...new Set([...changed, ...this.#kept])];
    const only = isDue || few.length > FEW ? undefined : few;
    try {
      const problems = await this.#reconcile(wanted, only, changed.length === 0);
      this.#done = texts;
      if (problems.hasFailed) this.#lookedMs = undefined;
      else if (!only) this.#lookedMs = startMs;
      const dropped = this.#firewall.problem(await this.#options.host.counters());
      this.#tell(wanted, (bridge) => problems.of.get(bridge) ?? dropped);
    } catch (err) {
      log.error({ err }, 'cannot connect the Networks of this node');
      this.#lookedMs = undefined;
      const problem = textOf(err);
      this.#tell(wanted, () => problem);
      this.#outcome = { ...this.#outcome, problem };
    }
    return this.#outcome;
  }

  /** Writes the problems of the Networks of this node into the outcome. */
  #tell({ here }: Wanted, problemOf: (bridge: string) => string | undefined): void {
    const found = here.flatMap(({ key, bridge }) => {
      const problem = problemOf(bridge);
      return problem === undefined ? [] : [[key, problem] as const];
    });
    const [first] = found;
    this.#outcome = {
      report: { ...this.#node, problems: Object.fromEntries(found) },
      joined: here.length - found.length,
      problem: first?.join(': '),
    };
  }

  #wanted(): Wanted {
    const { node, networks: all, known: keysOf } = this.#options;
    const keys = keysOf();
    const networks = all().flatMap((network) => this.#read(network, node) ?? []);
    const here = networks.filter(({ isHere }) => isHere);
    const needed = new Set(here.map(({ bridge }) => bridge));
    const readable = new Set(networks.map(({ bridge }) => bridge));
    const known = keys && new Set(Array.from(keys, bridgeName));
    return {
      networks,
      here,
      isNeeded: (bridge) =>
        needed.has(bridge) || (!readable.has(bridge) && (known === undefined || known.has(bridge))),
      isGone: (bridge) => known !== undefined && !known.has(bridge),
    };
  }

  /** Reads each object once: with thousands of nodes, that takes longest. */
  #read(network: Network, node: string): NodeNetwork | undefined {
    if (!this.#networks.has(network)) {
      const read = nodeNetworkOf(network, node);
      this.#networks.set(network, read);
      if (read) this.#texts.set(read, JSON.stringify(read));
    }
    return this.#networks.get(network);
  }

  /**
   * Reconciles these bridges, or all. Resolves with the problems by bridge. If the Networks are the same and the node
   * prints the same as when nothing was left to do, it plans nothing.
   */
  async #reconcile(
    wanted: Wanted,
    only: readonly string[] | undefined,
    isSame: boolean,
  ): Promise<{ readonly of: ReadonlyMap<string, string>; readonly hasFailed: boolean }> {
    const { host, underlay: choice, port, nowMs } = this.#options;
    const { networks, isNeeded } = wanted;
    for (let attempt = 1; ; attempt++) {
      const look = await host.inspect(only?.map(tunnelName));
      const clean = this.#clean?.digest === look.digest && isSame ? this.#clean : undefined;
      if (clean) {
        await this.#apply(clean.plan, wanted, clean.links, only);
        return { of: new Map([...clean.plan.warnings, ...clean.plan.refused]), hasFailed: false };
      }
      const [links, routes] = [look.links(), look.routes()];
      this.#node = { version: REPORT_VERSION, ranges: reportedRanges(routes, links.devices), problems: {} };
      const underlay = underlayOf(links.devices, choice);
      this.#node = { ...this.#node, underlay };
      const unneeded = unneededBridges(links, isNeeded);
      // A Network that is gone has no pods that could come back.
      const gone = [...unneeded].filter(wanted.isGone);
      const due = new Set([...this.#unused.due(unneeded, nowMs()), ...gone]);
      const plan = nodePlan({ networks, links, routes, underlay, port, unneeded, due });
      this.#kept = plan.kept;
      const isLast = attempt === ATTEMPTS;
      const failed = await this.#apply(plan, wanted, links, only, isLast);
      if (failed.size > 0 && !isLast) continue;
      const isClean = unneeded.size === 0 && plan.join.every(({ ip, fdb }) => ip.length + fdb.length === 0);
      this.#clean = isClean && !only ? { digest: look.digest, plan, links } : undefined;
      return { of: new Map([...plan.warnings, ...plan.refused, ...failed]), hasFailed: failed.size > 0 };
    }
  }

  async #apply(
    plan: NodePlan,
    wanted: Wanted,
    links: NodeLinks,
    only: readonly string[] | undefined,
    isLast = true,
  ): Promise<ReadonlyMap<string, string>> {
    const { host } = this.#options;
    // First, so that no bridge is open to others.
    await host.setRules(plan.rules);
    const joined = await host.joined();
    const removed = await this.#remove(plan.remove, wanted);
    const steps = plan.join.filter(({ bridge, ip, fdb }) => {
      return ip.length + fdb.length > 0 && (only?.includes(bridge) ?? true);
    });
    const failed = await this.#take(steps, 'joined a Network', isLast);
    await host.forward(plan.forwards);
    const there = new Set([...bridgeNames(links)].filter((bridge) => !removed.has(bridge)));
    const made = new Set(plan.join.map(({ bridge }) => bridge));
    for (const network of wanted.networks.filter(({ bridge }) => made.has(bridge))) {
      const { bridge } = network;
      const wasJoined = joined.has(bridge);
      const isJoined = !failed.has(bridge) || (wasJoined && hasGateways(network, links));
      if (isJoined !== wasJoined) await host.mark(bridge, isJoined);
    }
    for (const bridge of joined) {
      if (plan.refused.has(bridge) || !(made.has(bridge) || there.has(bridge)))
        await host.mark(bridge, false);
    }
    if (!only) await this.#removeLeftovers(wanted);
    return failed;
  }

  /** Removes bridges. Resolves with those that are gone. */
  async #remove(steps: readonly Step[], { isNeeded }: Wanted): Promise<ReadonlySet<string>> {
    const { host, onRemoved } = this.#options;
    if (steps.length === 0) return new Set();
    for (const { bridge } of steps) await host.mark(bridge, false);
    // A pod may have come before the mark went.
    const unneeded = unneededBridges((await host.inspect([])).links(), isNeeded);
    const removable = steps.filter(({ bridge }) => unneeded.has(bridge));
    const failed = await this.#take(removable, 'removed a Network from this node');
    const gone = removable.filter(({ bridge }) => !failed.has(bridge));
    for (const _ of gone) onRemoved?.();
    return new Set(gone.map(({ bridge }) => bridge));
  }

  /** Takes the steps. Resolves with the failures by bridge: errors only if it was the last attempt. */
  async #take(steps: readonly Step[], done: string, isLast = true): Promise<ReadonlyMap<string, string>> {
    const { host, log } = this.#options;
    const failed = await host.take(steps);
    for (const { bridge, ip, fdb } of steps) {
      const problem = failed.get(bridge);
      if (problem === undefined) log.info({ bridge, ip, fdb }, done);
      else if (!isLast)
        log.info({ bridge, ip, fdb, problem }, 'this node has changed meanwhile: looking again');
      else log.error({ bridge, ip, fdb, problem }, 'cannot change a Network of this node');
    }
    return failed;
  }

  async #removeLeftovers({ networks, isGone }: Wanted): Promise<void> {
    const readable = new Set(networks.map(({ bridge }) => bridge));
    await this.#options.host.removeLeftovers(isGone, (name) => {
      const bridge = bridgeName(name.replace('.', '/'));
      return CNI_NETWORK.test(name) && readable.has(bridge);
    });
  }
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).trim().replaceAll(/\s*\n\s*/g, ', ');
}
