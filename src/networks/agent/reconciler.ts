import { toError } from '../../kube/util/errors.ts';
import type { Logger } from '../../kube/util/log.ts';
import { type NodeReport, REPORT_VERSION } from '../nodes/node-report.ts';
import { hasGateways, type Step, unneededBridges } from './bridge-plan.ts';
import type { AgentNetwork, NodeNetwork } from './desired.ts';
import { firewallWatch } from './firewall.ts';
import type { Host } from './host.ts';
import { bridgeNames, type NodeLinks } from './links.ts';
import { type NodePlan, nodePlan } from './node-plan.ts';
import { reportedRanges, type UnderlayChoice, underlayOf } from './routes.ts';

export interface ReconcilerOptions {
  readonly host: Host;
  readonly underlay: UnderlayChoice;
  /** The UDP port of VXLAN. */
  readonly port: number;
  /** How often to look at the node while its Networks stay the same. */
  readonly syncIntervalMs: number;
  /** How long an unused bridge stays. */
  readonly unusedBridgeTtlMs: number;
  readonly nowMs: () => number;
  /** All Networks. */
  readonly networks: () => readonly AgentNetwork[];
  readonly onRemoved?: () => void;
  readonly log: Logger;
}

export interface Outcome {
  readonly report: NodeReport;
  /** How many Networks of this node are joined. */
  readonly joined: number;
  readonly problem: string | undefined;
}

interface Wanted {
  readonly networks: readonly NodeNetwork[];
  readonly here: readonly NodeNetwork[];
  /** Whether a Network needs the bridge on this node, or may need it because its status cannot be read. */
  readonly isNeeded: (bridge: string) => boolean;
  /** Whether it is known that there is no Network of this bridge. */
  readonly isGone: (bridge: string) => boolean;
}

/** Attempts in one round: what the kernel learns, and the bridge that CNI's plugin also makes, may change in between. */
const ATTEMPTS = 2;

/** Reconciles a node with the Networks that have pods on it. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  /** Since when each bridge has been unneeded. */
  readonly #unneededSince = new Map<string, number>();
  readonly #firewallProblem: ReturnType<typeof firewallWatch>;
  /** The Networks of this node in the last round. */
  #done = '';
  #doneMs: number | undefined;
  #node: NodeReport = { version: REPORT_VERSION, ranges: [], problems: {} };
  #outcome: Outcome = { report: this.#node, joined: 0, problem: undefined };

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#firewallProblem = firewallWatch(options.port);
  }

  /** Reconciles the node if its Networks have changed since the last round, if one is gone, after a failure, and from time to time. */
  async sync(): Promise<Outcome> {
    const { host, nowMs, syncIntervalMs, log } = this.#options;
    const wanted = this.#wanted();
    const text = JSON.stringify(wanted.here);
    const startMs = nowMs();
    const isDue =
      this.#doneMs === undefined ||
      startMs - this.#doneMs >= syncIntervalMs ||
      // The Network of a bridge that stayed after its last pod is gone now.
      [...this.#unneededSince.keys()].some(wanted.isGone);
    if (!isDue && text === this.#done) return this.#outcome;
    this.#done = text;
    this.#doneMs = undefined;
    try {
      const problems = await this.#reconcile(wanted);
      if (!problems.hasFailed) this.#doneMs = startMs;
      const dropped = this.#firewallProblem(await host.counters());
      this.#tell(wanted, (bridge) => problems.of.get(bridge) ?? dropped);
    } catch (err) {
      log.error({ err }, 'cannot connect this node to its Networks');
      const problem = textOf(err);
      this.#tell(wanted, () => problem);
      this.#outcome = { ...this.#outcome, problem };
    }
    return this.#outcome;
  }

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
    const all = this.#options.networks();
    const networks = all.flatMap(({ network }) => network ?? []);
    const here = networks.filter(({ isHere }) => isHere);
    const needed = new Set([...here, ...all.filter(({ network }) => !network)].map(({ bridge }) => bridge));
    const there = new Set(all.map(({ bridge }) => bridge));
    return {
      ...{ networks, here },
      isNeeded: (bridge) => needed.has(bridge),
      isGone: (bridge) => !there.has(bridge),
    };
  }

  async #reconcile(
    wanted: Wanted,
  ): Promise<{ readonly of: ReadonlyMap<string, string>; readonly hasFailed: boolean }> {
    const { host, underlay: choice, port, nowMs } = this.#options;
    const { networks, isNeeded, isGone } = wanted;
    for (let attempt = 1; ; attempt++) {
      const [links, routes] = [await host.links(), await host.routes()];
      this.#node = { version: REPORT_VERSION, ranges: reportedRanges(routes, links.devices), problems: {} };
      const underlay = underlayOf(links.devices, choice);
      this.#node = { ...this.#node, underlay };
      const unneeded = unneededBridges(links, isNeeded);
      // A Network that is gone has no pods that could come back.
      const due = new Set([...this.#unneededForLong(unneeded, nowMs()), ...[...unneeded].filter(isGone)]);
      const plan = nodePlan({ networks, links, routes, underlay, port, unneeded, due });
      const isLast = attempt === ATTEMPTS;
      const failed = await this.#apply(plan, wanted, links, isLast);
      if (failed.size > 0 && !isLast) continue;
      return { of: new Map([...plan.warnings, ...plan.refused, ...failed]), hasFailed: failed.size > 0 };
    }
  }

  #unneededForLong(unneeded: ReadonlySet<string>, nowMs: number): readonly string[] {
    const since = this.#unneededSince;
    for (const bridge of since.keys()) if (!unneeded.has(bridge)) since.delete(bridge);
    for (const bridge of unneeded) since.set(bridge, since.get(bridge) ?? nowMs);
    const { unusedBridgeTtlMs } = this.#options;
    return [...unneeded].filter((bridge) => nowMs - (since.get(bridge) ?? nowMs) >= unusedBridgeTtlMs);
  }

  async #apply(
    plan: NodePlan,
    wanted: Wanted,
    links: NodeLinks,
    isLast: boolean,
  ): Promise<ReadonlyMap<string, string>> {
    const { host } = this.#options;
    // First, so that no bridge is open to others.
    await host.setRules(plan.rules);
    const joined = await host.joined();
    const removed = await this.#remove(plan.remove, wanted);
    const steps = plan.join.filter(({ ip, fdb }) => ip.length + fdb.length > 0);
    const failed = await this.#take(steps, 'joined a Network', isLast);
    await host.forward(plan.forwards);
    const made = new Set(plan.join.map(({ bridge }) => bridge));
    for (const network of wanted.networks.filter(({ bridge }) => made.has(bridge))) {
      const { bridge } = network;
      const wasJoined = joined.has(bridge);
      const isJoined = !failed.has(bridge) || (wasJoined && hasGateways(network, links));
      if (isJoined !== wasJoined) await host.mark(bridge, isJoined);
    }
    const there = bridgeNames(links);
    for (const bridge of joined) {
      const isThere = made.has(bridge) || (there.has(bridge) && !removed.has(bridge));
      if (plan.refused.has(bridge) || !isThere) await host.mark(bridge, false);
    }
    return failed;
  }

  async #remove(steps: readonly Step[], { isNeeded }: Wanted): Promise<ReadonlySet<string>> {
    const { host, onRemoved } = this.#options;
    if (steps.length === 0) return new Set();
    for (const { bridge } of steps) await host.mark(bridge, false);
    // A pod may have come before the mark went.
    const unneeded = unneededBridges(await host.links(), isNeeded);
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
        log.info({ bridge, ip, fdb, problem }, 'node changed in the meantime: reconciling again');
      else log.error({ bridge, ip, fdb, problem }, 'cannot change a Network on this node');
    }
    return failed;
  }
}

function textOf(error: unknown): string {
  return toError(error)
    .message.trim()
    .replaceAll(/\s*\n\s*/g, ', ');
}
