import { isDeepStrictEqual } from 'node:util';
import { NODES } from '../../kube/api/core-resources.ts';
import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { clip } from '../../util/clip.ts';
import { REPORT_LABEL } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { Range } from '../ipam/cidr.ts';
import type { ClusterNode, ClusterRanges } from '../ipam/cluster-ranges.ts';
import { type NetworkPod, networksOf } from '../pods/network-pods.ts';
import type { NodesInUse } from '../providers.ts';
import { AgentPods } from './agent-pods.ts';
import { DefaultMtu } from './default-mtu.ts';
import { NODE_REPORTS, type ReportObject } from './node-report.ts';
import { type KnownNode, MAX_WORDS, nodesInUse } from './nodes-in-use.ts';
import { ReportedRanges } from './reported-ranges.ts';

type Source<T extends KubeObject> = Pick<Informer<T>, 'lister' | 'addEventHandler'>;

export interface NetworkNodesOptions {
  readonly nodes: Source<ClusterNode>;
  /** The reports of node agents, each with the name of its node; undefined without node agents. */
  readonly reports: Source<ReportObject> | undefined;
  /** The namespace of the agents and their reports. */
  readonly namespace: string;
  readonly clock: Pick<Clock, 'now'>;
  /** With POD_INDEXERS. Has all pods of the namespace of the agents, too. */
  readonly pods: Source<NetworkPod>;
  readonly ranges: Pick<ClusterRanges, 'set'>;
  /** The ranges that Networks may have. */
  readonly allowed: readonly Range[];
  /** Called when the nodes of this Network may have changed. */
  readonly onNetwork: (key: ObjectKey) => void;
  /** Called when the default MTU has changed. */
  readonly onMtu: () => void;
  /** Called when Multus may have come to the node, or left it. `isAll`: it has come to the first of all nodes, or left the last. */
  readonly onMultus: (node: string, isAll: boolean) => void;
  readonly events: EventRecorder;
}

/** What Networks need to know of nodes. A node without pods of a Network does not concern it. */
export class NetworkNodes {
  readonly #options: NetworkNodesOptions;
  readonly #mtu = new DefaultMtu();
  readonly #reported: ReportedRanges;
  readonly #agents: AgentPods | undefined;
  /** By node, ranges beyond its share that no Event has named yet. */
  readonly #wide = new Map<string, readonly string[]>();

  /** Why pods start without their Networks, by the node whose agent says so. */
  readonly #withoutMultus = new Map<string, string>();
  /** The other nodes whose agents report. */
  readonly #withMultus = new Set<string>();
  #isWithoutMultus = false;

  /** Adds a handler to each informer. */
  constructor(options: NetworkNodesOptions) {
    this.#options = options;
    this.#reported = new ReportedRanges(options.allowed, options.ranges);
    const { pods, reports, namespace, clock } = options;
    this.#agents = reports && new AgentPods(pods.lister, namespace, clock);
    const onAgent = ({ metadata, nodeName }: NetworkPod) => {
      if (metadata.namespace === namespace && nodeName !== undefined) this.#lookForAgent(nodeName);
    };
    if (reports)
      pods.addEventHandler({ onAdd: onAgent, onUpdate: (_, pod) => onAgent(pod), onDelete: onAgent });
    options.nodes.addEventHandler({
      onAdd: (node) => this.#nodeChanged(node.metadata.name, undefined, node),
      onUpdate: (previous, node) => this.#nodeChanged(node.metadata.name, previous, node),
      onDelete: (node) => this.#nodeChanged(node.metadata.name, node, undefined),
    });
    options.reports?.addEventHandler({
      onAdd: (report) => this.#reportChanged(report.metadata.name, undefined, report),
      onUpdate: (previous, report) => this.#reportChanged(report.metadata.name, previous, report),
      onDelete: (report) => this.#reportChanged(report.metadata.name, report, undefined),
    });
  }

  /** The nodes with these names, on which pods of the Network run. */
  inUse(
    network: Network,
    names: readonly string[],
    unattached?: ReadonlyMap<string, readonly string[]>,
  ): NodesInUse {
    return nodesInUse(network, names, this.#options.reports && ((name) => this.#known(name)), unattached);
  }

  /**
   * Why no pod gets an interface on these nodes, or on all that take new pods: Multus is on none of those whose agents
   * report. Undefined if it is on one, or no agent reports. With a taint, Multus' own pods may not be for the node: it counts
   * only if it has Multus.
   */
  withoutMultus(names?: readonly string[]): string | undefined {
    const firstOf = (all: Pick<ReadonlySet<string>, 'keys' | 'has'>) => {
      for (const name of names ?? all.keys()) {
        const node = this.#options.nodes.lister.get(name);
        const isOpen = all === this.#withMultus || !node?.isTainted;
        const isCandidate = names ? all.has(name) : takesPods(node) && isOpen;
        if (isCandidate && this.#agents?.missing(name) === undefined) return name;
      }
      return undefined;
    };
    if (firstOf(this.#withMultus) !== undefined) return undefined;
    const name = firstOf(this.#withoutMultus);
    if (name === undefined) return undefined;
    const why = clip(this.#withoutMultus.get(name) ?? '', MAX_WORDS);
    return `Multus attaches no pods on ${names ? 'the nodes of the pod' : 'all nodes'}, for example on ${name}: ${why}`;
  }

  /** Tells the Networks of nodes whose agents are gone. To be called from time to time. */
  tellOfGoneAgents(): void {
    for (const node of this.#agents?.newlyGone() ?? []) this.#onUsers(node);
  }

  /** Tells of ranges in reports that do not count. To be called from time to time by the leader. */
  tellOfWideRanges(): void {
    for (const [name, ranges] of this.#wide) {
      const note = `Networks may overlap ${ranges.join(', ')}: the report of one node takes at most half of each range of --network-ranges, and wider ones count if two nodes report them`;
      const node = { apiVersion: 'v1', kind: NODES.kind, metadata: { name } };
      this.#options.events.event(node, {
        type: 'Warning',
        reason: 'RangesIgnored',
        action: 'ReadReport',
        note,
      });
    }
    this.#wide.clear();
  }

  /** The MTU of Networks that set none, in bytes. */
  mtu(): number {
    return this.#mtu.get();
  }

  #known(name: string): KnownNode {
    const found = this.#reportOf(name);
    const { addresses = [], isAway = false } = this.#options.nodes.lister.get(name) ?? {};
    const missingPod = this.#agents?.missing(name);
    const [internalIp] = addresses;
    return { internalIp, isAway, report: found?.current, reportProblem: found?.problem, missingPod };
  }

  #reportOf(name: string): ReportObject | undefined {
    const { reports, namespace } = this.#options;
    return reports?.lister.get(`${namespace}/${name}`);
  }

  #nodeChanged(name: string, previous: ClusterNode | undefined, current: ClusterNode | undefined): void {
    // The status of a node changes every few seconds.
    const taken = (node: ClusterNode | undefined) => node && [node.addresses, node.cidrs];
    if (!isDeepStrictEqual(taken(previous), taken(current))) this.#record(name);
    const hasMoved = previous?.addresses[0] !== current?.addresses[0];
    const isAway = current?.isAway ?? false;
    if (hasMoved || (previous?.isAway ?? false) !== isAway) this.#onUsers(name);
    const isSame = takesPods(previous) === takesPods(current) && previous?.isTainted === current?.isTainted;
    if (this.#withoutMultus.size > 0 && !isSame) this.#tellOfMultus(name);
  }

  #reportChanged(name: string, previous: ReportObject | undefined, current: ReportObject | undefined): void {
    if (previous && current && previous.text === current.text) return;
    this.#record(name);
    this.#lookForAgent(name);
    // Whether there is a report that counts, of which release, and the address: this concerns each Network on the node.
    const relevant = (report: ReportObject | undefined) =>
      report && [report.current?.version, report.current?.underlay?.address, report.problem];
    const { withoutMultus } = current?.current ?? {};
    const isNews = this.#withoutMultus.get(name) !== withoutMultus;
    if (isNews || !isDeepStrictEqual(relevant(previous), relevant(current))) this.#onUsers(name);
    this.#withMultus.delete(name);
    if (withoutMultus !== undefined) this.#withoutMultus.set(name, withoutMultus);
    else {
      this.#withoutMultus.delete(name);
      if (current?.current) this.#withMultus.add(name);
    }
    // Also the first report of a node counts.
    if (isNews || (!previous?.current && this.#withoutMultus.size > 0)) this.#tellOfMultus(name);
    const [before, after] = [previous?.current?.problems ?? {}, current?.current?.problems ?? {}];
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (before[key] !== after[key]) this.#options.onNetwork(key);
    }
  }

  /** Records what the node has taken. A report without a Node is of a node that is gone. */
  #record(name: string): void {
    const { nodes, ranges, onMtu } = this.#options;
    const node = nodes.lister.get(name);
    const report = this.#reportOf(name);
    ranges.set(`node ${name}`, node?.addresses ?? []);
    ranges.set(`the pods of node ${name}`, node?.cidrs ?? []);
    // What cannot be read changes nothing.
    const reported = node && report ? report.current?.ranges : [];
    const wide = reported ? this.#reported.set(name, reported) : [];
    if (wide.length > 0) this.#wide.set(name, wide);
    if (this.#mtu.set(name, node?.addresses[0], node && report?.current?.underlay)) onMtu();
  }

  #lookForAgent(node: string): void {
    const wasMissing = this.#agents?.missing(node) !== undefined;
    if (this.#agents?.look(node, this.#reportOf(node)?.current?.pod)) this.#onUsers(node);
    const isMissing = this.#agents?.missing(node) !== undefined;
    if (wasMissing !== isMissing && this.#withoutMultus.size > 0) this.#tellOfMultus(node);
  }

  #tellOfMultus(node: string): void {
    const isWithout = this.withoutMultus() !== undefined;
    const isAll = isWithout !== this.#isWithoutMultus;
    this.#isWithoutMultus = isWithout;
    this.#options.onMultus(node, isAll);
  }

  #onUsers(name: string): void {
    const { pods, onNetwork } = this.#options;
    for (const key of new Set(pods.lister.byIndex('node', name).flatMap(networksOf))) onNetwork(key);
  }
}

function takesPods(node: ClusterNode | undefined): boolean {
  return node !== undefined && !node.isAway && !node.isCordoned;
}

export interface NodesOptions extends Omit<NetworkNodesOptions, 'reports' | 'namespace' | 'clock'> {
  /** The namespace of the node agents; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
}

/** What Networks need to know of nodes, and the informers to wait for before its first use. */
export interface Nodes {
  readonly networkNodes: NetworkNodes;
  readonly informers: readonly Pick<Informer<KubeObject>, 'waitForSync'>[];
}

/** How often to look whether agents are gone, and to tell of ranges. */
const LOOK_MS = 15_000;

/** Watches the reports and the pods of node agents on every replica. */
export function setUpNodes(manager: Manager, { nodeAgentNamespace, ...options }: NodesOptions): Nodes {
  const namespace = nodeAgentNamespace ?? '';
  const { clock } = manager;
  if (nodeAgentNamespace === undefined) {
    const networkNodes = new NetworkNodes({ ...options, reports: undefined, namespace, clock });
    return { networkNodes, informers: [] };
  }
  const reports = manager.informer(NODE_REPORTS, { namespace, labelSelector: REPORT_LABEL });
  const networkNodes = new NetworkNodes({ ...options, namespace, reports, clock });
  manager.everyReplica('agents', async () => networkNodes.tellOfGoneAgents(), { everyMs: LOOK_MS });
  manager.singleton('reported-ranges', async () => networkNodes.tellOfWideRanges(), { everyMs: LOOK_MS });
  return { networkNodes, informers: [reports] };
}
