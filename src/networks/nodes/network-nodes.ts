import { isDeepStrictEqual } from 'node:util';
import { NODES } from '../../kube/api/core-resources.ts';
import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { clip } from '../../util/clip.ts';
import { REPORT_LABEL } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import { type NetworkPod, networksOf } from '../pods/network-pods.ts';
import type { NodesInUse } from '../providers.ts';
import type { Range } from '../ranges/cidr.ts';
import type { ClusterNode, ClusterRanges } from '../ranges/cluster-ranges.ts';
import { largestMtu, NODE_REPORTS, type ReportObject } from './node-report.ts';
import { type KnownNode, MAX_WORDS, nodesInUse } from './nodes-in-use.ts';
import { ReportedRanges } from './reported-ranges.ts';

type Source<T extends KubeObject> = Pick<Informer<T>, 'lister' | 'addEventHandler'>;

export interface NetworkNodesOptions {
  readonly nodes: Source<ClusterNode>;
  /** The reports of node agents, each with the name of its node; undefined without node agents. */
  readonly reports: Source<ReportObject> | undefined;
  /** The namespace of the agents and their reports. */
  readonly namespace: string;
  /** With POD_INDEXERS. */
  readonly pods: Source<NetworkPod>;
  readonly ranges: Pick<ClusterRanges, 'set'>;
  readonly allowed: readonly Range[];
  /** Called when the nodes of this Network may have changed. */
  readonly onNetwork: (key: ObjectKey) => void;
  readonly onMtu: () => void;
  /** Called when Multus has come to the first of all nodes, or left the last. */
  readonly onMultus: () => void;
  readonly events: EventRecorder;
}

/** The MTU of Ethernet, for nodes whose agents have not reported, in bytes. */
const ETHERNET = 1500;

/** What Networks need to know of nodes. A node without pods of a Network does not concern it. */
export class NetworkNodes {
  readonly #options: NetworkNodesOptions;
  readonly #reported: ReportedRanges;
  /** By node, ranges beyond its share that no Event has named yet. */
  readonly #wide = new Map<string, readonly string[]>();
  /** By node, the largest MTU of a Network, in bytes. */
  readonly #mtus = new Map<string, { readonly mtu: number; readonly isReported: boolean }>();
  #mtu = largestMtu({ address: '', mtu: ETHERNET });
  #isWithoutMultus = false;

  /** Adds a handler to each informer. */
  constructor(options: NetworkNodesOptions) {
    this.#options = options;
    this.#reported = new ReportedRanges(options.allowed, options.ranges);
    const { nodes, reports } = options;
    nodes.addEventHandler({
      onAdd: (node) => this.#nodeChanged(node.metadata.name, undefined, node),
      onUpdate: (previous, node) => this.#nodeChanged(node.metadata.name, previous, node),
      onDelete: (node) => this.#nodeChanged(node.metadata.name, node, undefined),
    });
    reports?.addEventHandler({
      onAdd: (report) => this.#reportChanged(report.metadata.name, undefined, report),
      onUpdate: (previous, report) => this.#reportChanged(report.metadata.name, previous, report),
      onDelete: (report) => this.#reportChanged(report.metadata.name, report, undefined),
    });
  }

  /** The nodes with these names, on which pods of the Network run. `unattached`: see `nodesInUse`. */
  inUse(
    network: Network,
    names: readonly string[],
    unattached: ReadonlyMap<string, readonly string[]> = new Map(),
  ): NodesInUse {
    return nodesInUse(network, names, this.#options.reports && ((name) => this.#known(name)), unattached);
  }

  /** Why Multus attaches pods on no node; undefined if it does on one, or no agent reports. */
  withoutMultus(): string | undefined {
    const { nodes, reports } = this.#options;
    let example: ReportObject | undefined;
    for (const report of reports?.lister.list() ?? []) {
      if (!report.current || !nodes.lister.get(report.metadata.name)) continue;
      if (report.current.withoutMultus === undefined) return undefined;
      example ??= report;
    }
    if (!example) return undefined;
    const why = clip(example.current?.withoutMultus ?? '', MAX_WORDS);
    return `Multus attaches no pods on any node, for example on ${example.metadata.name}: ${why}`;
  }

  /** Tells of ranges in reports that do not count. To be called from time to time by the leader. */
  tellOfWideRanges(): void {
    for (const [name, ranges] of this.#wide) {
      const note = `Networks may overlap ${ranges.join(', ')}: the report of one node can reserve at most half of each range of --network-ranges, and larger ranges count only if two nodes report them`;
      const node = { apiVersion: 'v1', kind: NODES.kind, metadata: { name } };
      const details = { type: 'Warning', reason: 'RangesIgnored', action: 'ReadReport', note } as const;
      this.#options.events.event(node, details);
    }
    this.#wide.clear();
  }

  /** The MTU of Networks that set none, in bytes: the smallest that agents report; without reports, the smallest over Ethernet. */
  mtu(): number {
    return this.#mtu;
  }

  #known(name: string): KnownNode {
    const found = this.#reportOf(name);
    const { addresses = [], isAway = false } = this.#options.nodes.lister.get(name) ?? {};
    const [internalIp] = addresses;
    return { internalIp, isAway, report: found?.current, reportProblem: found?.problem };
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
    if (hasMoved || (previous?.isAway ?? false) !== (current?.isAway ?? false)) this.#onUsers(name);
    if (!previous || !current) this.#tellOfMultus();
  }

  #reportChanged(name: string, previous: ReportObject | undefined, current: ReportObject | undefined): void {
    if (previous && current && previous.text === current.text) return;
    this.#record(name);
    // This concerns each Network on the node.
    const relevant = (report: ReportObject | undefined) =>
      report && [report.problem, report.current?.underlay?.address, report.current?.withoutMultus];
    if (!isDeepStrictEqual(relevant(previous), relevant(current))) this.#onUsers(name);
    this.#tellOfMultus();
    const [was, is] = [previous?.current?.problems ?? {}, current?.current?.problems ?? {}];
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
      if (was[key] !== is[key]) this.#options.onNetwork(key);
    }
  }

  /** Records what the node has taken. A report without a Node is of a node that is gone. */
  #record(name: string): void {
    const { nodes, ranges } = this.#options;
    const node = nodes.lister.get(name);
    const report = this.#reportOf(name);
    ranges.set(`node ${name}`, node?.addresses ?? []);
    ranges.set(`the pods of node ${name}`, node?.cidrs ?? []);
    // What cannot be read changes nothing.
    const reported = node && report ? report.current?.ranges : [];
    const wide = reported ? this.#reported.set(name, reported) : [];
    if (wide.length > 0) this.#wide.set(name, wide);
    this.#mtus.delete(name);
    const [internalIp] = node?.addresses ?? [];
    const underlay = node && report?.current?.underlay;
    if (underlay) this.#mtus.set(name, { mtu: largestMtu(underlay), isReported: true });
    else if (internalIp !== undefined)
      this.#mtus.set(name, { mtu: largestMtu({ address: internalIp, mtu: ETHERNET }), isReported: false });
    this.#countMtu();
  }

  #countMtu(): void {
    const all = [...this.#mtus.values()];
    const reported = all.filter(({ isReported }) => isReported);
    const counted = reported.length > 0 ? reported : all;
    const least = counted.reduce((mtu, each) => Math.min(mtu, each.mtu), Number.POSITIVE_INFINITY);
    const mtu = counted.length > 0 ? least : largestMtu({ address: '', mtu: ETHERNET });
    if (mtu === this.#mtu) return;
    this.#mtu = mtu;
    this.#options.onMtu();
  }

  #tellOfMultus(): void {
    const isWithout = this.withoutMultus() !== undefined;
    if (isWithout === this.#isWithoutMultus) return;
    this.#isWithoutMultus = isWithout;
    this.#options.onMultus();
  }

  #onUsers(name: string): void {
    const { pods, onNetwork } = this.#options;
    for (const key of new Set(pods.lister.byIndex('node', name).flatMap(networksOf))) onNetwork(key);
  }
}

export interface NodesOptions extends Omit<NetworkNodesOptions, 'reports' | 'namespace'> {
  /** The namespace of the node agents; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
}

/** How often to tell of ranges. */
const LOOK_MS = 15_000;

/** Watches the reports of node agents on every replica. Returns the informers to wait for, too. */
export function setUpNodes(manager: Manager, { nodeAgentNamespace, ...options }: NodesOptions) {
  const namespace = nodeAgentNamespace ?? '';
  const reports =
    nodeAgentNamespace === undefined
      ? undefined
      : manager.informer(NODE_REPORTS, { namespace, labelSelector: REPORT_LABEL });
  const networkNodes = new NetworkNodes({ ...options, namespace, reports });
  if (reports)
    manager.singleton('reported-ranges', async () => networkNodes.tellOfWideRanges(), { everyMs: LOOK_MS });
  return { networkNodes, informers: reports ? [reports] : [] };
}
