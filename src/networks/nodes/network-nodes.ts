import { isDeepStrictEqual } from 'node:util';
import { NODES } from '../../kube/api/core-resources.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { clip } from '../../util/clip.ts';
import { REPORT_LABEL } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import { type NetworkPod, networksOf } from '../pods/network-pods.ts';
import type { NodesInUse } from '../providers.ts';
import type { Range } from '../ranges/cidr.ts';
import type { ClusterRanges } from '../ranges/cluster-ranges.ts';
import type { ClusterNode } from './cluster-node.ts';
import { largestMtu, NODE_REPORTS, type ReportObject } from './node-report.ts';
import { type KnownNode, MAX_WORDS, nodesInUse } from './nodes-in-use.ts';
import { rangesOfReports } from './reported-ranges.ts';

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
  readonly allowed: readonly Range[];
  /** Called when something else is known of the node. */
  readonly onNode: (name: string) => void;
  /** Called when Multus has come to the first of all nodes, or left the last, or when the default MTU is another. */
  readonly onAll: () => void;
  readonly events: EventRecorder;
}

/** How long a rollout of the DaemonSet may take to replace the pod of a node. */
export const REPLACED_WITHIN_MS = 60_000;
/** The MTU of Ethernet, for nodes whose agents have not reported, in bytes. */
const ETHERNET = 1500;

/** What Networks need to know of nodes. A node without pods of a Network does not concern it. */
export class NetworkNodes {
  readonly #options: NetworkNodesOptions;
  readonly #setReported: ReturnType<typeof rangesOfReports>;
  /** By node, ranges beyond its share that no Event has named yet. */
  readonly #wide = new Map<string, readonly string[]>();
  /** By node, the pod that its report names and that is not there: a report outlives its agent. */
  readonly #missing = new Map<string, { readonly name: string; readonly sinceMs: number; isGone: boolean }>();
  /** By node, the largest MTU of a Network, in bytes. */
  readonly #mtus = new Map<string, { readonly mtu: number; readonly isReported: boolean }>();
  #mtu = largestMtu({ address: '', mtu: ETHERNET });
  #isWithoutMultus = false;

  /** Adds a handler to each informer. */
  constructor(options: NetworkNodesOptions) {
    this.#options = options;
    this.#setReported = rangesOfReports(options.allowed, options.ranges);
    const { nodes, pods, reports, namespace } = options;
    const onAgent = ({ metadata, nodeName }: NetworkPod) => {
      if (metadata.namespace === namespace && nodeName !== undefined && this.#lookForAgent(nodeName))
        this.#tellOf(nodeName);
    };
    if (reports)
      pods.addEventHandler({ onAdd: onAgent, onUpdate: (_, pod) => onAgent(pod), onDelete: onAgent });
    const changed = ({ metadata: { name } }: KubeObject) => {
      this.#record(name);
      this.#lookForAgent(name);
      this.#tellOf(name);
    };
    nodes.addEventHandler({
      onAdd: changed,
      onUpdate({ metadata: _, ...previous }, { metadata, ...current }) {
        // The status of a node changes every few seconds.
        if (!isDeepStrictEqual(previous, current)) changed({ metadata });
      },
      onDelete: changed,
    });
    reports?.addEventHandler({
      onAdd: changed,
      onUpdate(previous, current) {
        if (previous.text !== current.text) changed(current);
      },
      onDelete: changed,
    });
  }

  /** The nodes with these names, on which pods of the Network run. */
  inUse(network: Network, names: readonly string[]): NodesInUse {
    const { reports, pods } = this.#options;
    const key = keyOf(network);
    const lost = names.flatMap((name) => this.#lost(name, key));
    const lacking = new Set([...pods.lister.byIndex('unattached', key), ...lost]);
    const byNode = Map.groupBy(lacking, ({ nodeName = '' }) => nodeName);
    return nodesInUse(network, names, reports && ((name) => this.#known(name)), byNode);
  }

  /** The Networks on which the pod has lost its interface, as the agent of its node reports. A report may be of earlier pods. */
  lostBy(pod: NetworkPod): readonly ObjectKey[] {
    const { uid, deletionTimestamp } = pod.metadata;
    const { lost = {} } = this.#reportOf(pod.nodeName ?? '')?.current ?? {};
    if (deletionTimestamp !== undefined) return [];
    return networksOf(pod).filter((network) => uid !== undefined && lost[network]?.[keyOf(pod)] === uid);
  }

  #lost(node: string, network: ObjectKey): readonly NetworkPod[] {
    const reported = Object.keys(this.#reportOf(node)?.current?.lost?.[network] ?? {});
    const pods = reported.flatMap((key) => this.#options.pods.lister.get(key) ?? []);
    return pods.filter((pod) => pod.nodeName === node && this.lostBy(pod).includes(network));
  }

  /**
   * Why no pod gets an interface on these nodes, or on all that take new pods: Multus is on none of those whose agents
   * report. Undefined if it is on one, or no agent reports. With a taint, Multus' own pods may not be for the node: it counts
   * only if it has Multus.
   */
  withoutMultus(names?: readonly string[]): string | undefined {
    const { nodes, reports } = this.#options;
    let example: ReportObject | undefined;
    for (const report of names?.flatMap((name) => this.#reportOf(name) ?? []) ??
      reports?.lister.list() ??
      []) {
      const { name } = report.metadata;
      if (!report.current || this.#missing.has(name)) continue;
      const hasMultus = report.current.withoutMultus === undefined;
      const node = nodes.lister.get(name);
      if (!names && !(takesPods(node) && (hasMultus || !node?.isTainted))) continue;
      if (hasMultus) return undefined;
      example ??= report;
    }
    if (!example) return undefined;
    const why = clip(example.current?.withoutMultus ?? '', MAX_WORDS);
    return `Multus attaches no pods on ${names ? "the pod's nodes" : 'any node'}; on ${example.metadata.name}, for example, ${why}`;
  }

  /** Tells the Networks of nodes whose agents are gone. To be called from time to time. */
  tellOfGoneAgents(): void {
    const now = this.#options.clock.now();
    for (const [node, missing] of this.#missing) {
      if (missing.isGone || now - missing.sinceMs < REPLACED_WITHIN_MS) continue;
      missing.isGone = true;
      this.#options.onNode(node);
    }
  }

  /** Tells of ranges in reports that do not count. To be called from time to time by the leader. */
  tellOfWideRanges(): void {
    for (const [name, ranges] of this.#wide) {
      const note = `ignored reported ranges ${ranges.join(', ')}, so Networks may overlap them: one node can reserve at most half of each --network-ranges range; larger ranges count only if two nodes report them`;
      const details = { type: 'Warning', reason: 'RangesIgnored', action: 'ReadReport', note } as const;
      this.#options.events.event(regardingOf(NODES, { metadata: { name } }), details);
    }
    this.#wide.clear();
  }

  /** The MTU of Networks that set none, in bytes: the smallest that agents report; without reports, the smallest over Ethernet. */
  mtu(): number {
    return this.#mtu;
  }

  #known(name: string): KnownNode {
    const node = this.#options.nodes.lister.get(name);
    return { node, report: this.#reportOf(name), missingPod: this.#missing.get(name) };
  }

  #reportOf(name: string): ReportObject | undefined {
    const { reports, namespace } = this.#options;
    return reports?.lister.get(`${namespace}/${name}`);
  }

  /** Records what the node has taken. A report without a Node is of a node that is gone. */
  #record(name: string): void {
    const { nodes, ranges } = this.#options;
    const node = nodes.lister.get(name);
    const report = this.#reportOf(name);
    ranges.set(`node ${name}`, node?.addresses ?? []);
    ranges.set(`the pods on node ${name}`, node?.cidrs ?? []);
    // What cannot be read changes nothing.
    const reported = node && report ? report.current?.ranges : [];
    const wide = reported ? this.#setReported(name, reported) : [];
    if (wide.length > 0) this.#wide.set(name, wide);
    this.#mtus.delete(name);
    const [internalIp] = node?.addresses ?? [];
    const underlay = node && report?.current?.underlay;
    if (underlay) this.#mtus.set(name, { mtu: largestMtu(underlay), isReported: true });
    else if (internalIp !== undefined)
      this.#mtus.set(name, { mtu: largestMtu({ address: internalIp, mtu: ETHERNET }), isReported: false });
  }

  /** Whether it is news that the pod of the node's agent is there, or not. */
  #lookForAgent(node: string): boolean {
    const { pods, namespace, clock } = this.#options;
    const { pod } = this.#reportOf(node)?.current ?? {};
    const wasThere = !this.#missing.has(node);
    const isThere = !pod || pods.lister.get(`${namespace}/${pod.name}`)?.metadata.uid === pod.uid;
    if (isThere) this.#missing.delete(node);
    else if (wasThere) this.#missing.set(node, { name: pod.name, sinceMs: clock.now(), isGone: false });
    return wasThere !== isThere;
  }

  #tellOf(node: string): void {
    const { onNode, onAll } = this.#options;
    onNode(node);
    const [mtu, isWithoutMultus] = [this.#leastMtu(), this.withoutMultus() !== undefined];
    if (mtu === this.#mtu && isWithoutMultus === this.#isWithoutMultus) return;
    this.#mtu = mtu;
    this.#isWithoutMultus = isWithoutMultus;
    onAll();
  }

  #leastMtu(): number {
    const all = [...this.#mtus.values()];
    const reported = all.filter(({ isReported }) => isReported);
    const counted = reported.length > 0 ? reported : all;
    const least = counted.reduce((mtu, each) => Math.min(mtu, each.mtu), Number.POSITIVE_INFINITY);
    return counted.length > 0 ? least : largestMtu({ address: '', mtu: ETHERNET });
  }
}

function takesPods(node: ClusterNode | undefined): boolean {
  return node !== undefined && !node.isAway && !node.isCordoned;
}

export interface NodesOptions extends Omit<NetworkNodesOptions, 'reports' | 'namespace' | 'clock'> {
  /** The namespace of the node agents; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
}

/** How often to look whether agents are gone, and to tell of ranges. */
const LOOK_MS = 15_000;

/** Watches the reports and the pods of node agents on every replica. Returns the informers to wait for, too. */
export function setUpNodes(manager: Manager, { nodeAgentNamespace, ...options }: NodesOptions) {
  const namespace = nodeAgentNamespace ?? '';
  const reports =
    nodeAgentNamespace === undefined
      ? undefined
      : manager.informer(NODE_REPORTS, { namespace, labelSelector: REPORT_LABEL });
  const networkNodes = new NetworkNodes({ ...options, namespace, reports, clock: manager.clock });
  if (reports) {
    manager.everyReplica('agents', async () => networkNodes.tellOfGoneAgents(), { everyMs: LOOK_MS });
    manager.singleton('reported-ranges', async () => networkNodes.tellOfWideRanges(), { everyMs: LOOK_MS });
  }
  return { networkNodes, informers: reports ? [reports] : [] };
}
