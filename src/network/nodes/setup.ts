import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { REPORT_LABEL } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { ClusterNode } from '../ipam/cluster-objects.ts';
import type { ClusterRanges } from '../ipam/cluster-ranges.ts';
import { type NetworkPod, networksOf } from '../pods/network-pods.ts';
import type { NodesInUse } from '../providers/provider.ts';
import { DefaultMtu } from './default-mtu.ts';
import { NODE_REPORTS, type ReportObject } from './node-objects.ts';
import { nodesInUse } from './nodes-in-use.ts';

export interface NetworkNodesOptions {
  /** The namespace of the node agents; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
  readonly nodes: Informer<ClusterNode>;
  /** With the indices POD_INDEXERS. */
  readonly pods: Lister<NetworkPod>;
  readonly ranges: Pick<ClusterRanges, 'set'>;
  /** Called when the nodes of this Network may have changed. */
  readonly onNetwork: (key: ObjectKey) => void;
  /** Called when the default MTU has changed. */
  readonly onMtu: () => void;
}

/** What Networks need to know of nodes. */
export interface NetworkNodes {
  /** The nodes with these names, on which pods of the Network run. */
  inUse(network: Network, names: readonly string[]): NodesInUse;
  /** The MTU of Networks that set none, in bytes. */
  mtu(): number;
  /** Wait for their sync before the first call. */
  readonly informers: readonly Pick<Informer<KubeObject>, 'waitForSync'>[];
}

/** Follows the nodes and the reports of their agents on every replica. A node without pods of a Network concerns none. */
export function setUpNetworkNodes(manager: Manager, options: NetworkNodesOptions): NetworkNodes {
  const { nodeAgentNamespace, nodes, pods, ranges, onNetwork, onMtu } = options;
  const mtu = new DefaultMtu();
  const reports =
    nodeAgentNamespace === undefined
      ? undefined
      : manager.informer(NODE_REPORTS, { namespace: nodeAgentNamespace, labelSelector: REPORT_LABEL });
  const reportOf = (node: string) => reports?.lister.get(`${nodeAgentNamespace}/${node}`);
  const internalIpOf = (node: string) => nodes.lister.get(node)?.addresses[0];

  /** Records what a node has taken. A report without a Node is of a node that is gone. */
  function record(name: string): void {
    const node = nodes.lister.get(name);
    const found = reportOf(name);
    ranges.set(`node ${name}`, node?.addresses ?? []);
    ranges.set(`the pods of node ${name}`, node?.cidrs ?? []);
    // What is not understood changes nothing.
    if (!node || !found) ranges.set(`a network of node ${name}`, []);
    else if (found.current) ranges.set(`a network of node ${name}`, found.current.ranges);
    if (mtu.set(name, node?.addresses[0], node && found?.current?.underlay)) onMtu();
  }

  function onUsers(node: string): void {
    for (const key of new Set(pods.byIndex('node', node).flatMap(networksOf))) onNetwork(key);
  }

  function nodeChanged(previous: ClusterNode | undefined, current: ClusterNode | undefined): void {
    const name = (current ?? previous)?.metadata.name;
    // The status of a node changes every few seconds.
    if (name === undefined || isSame(previous, current)) return;
    record(name);
    if (previous?.addresses[0] !== current?.addresses[0]) onUsers(name);
  }

  function reportChanged(previous: ReportObject | undefined, current: ReportObject | undefined): void {
    const name = (current ?? previous)?.metadata.name;
    if (name === undefined || previous === current || previous?.text === current?.text) return;
    record(name);
    const [before, after] = [previous?.current, current?.current];
    const hasReported = (report: ReportObject | undefined) => report !== undefined;
    if (
      before?.version !== after?.version ||
      before?.underlay?.address !== after?.underlay?.address ||
      hasReported(previous) !== hasReported(current)
    ) {
      onUsers(name);
    }
    const problems = [before?.problems ?? {}, after?.problems ?? {}] as const;
    for (const key of new Set(problems.flatMap(Object.keys))) {
      if (problems[0][key] !== problems[1][key]) onNetwork(key);
    }
  }

  nodes.addEventHandler({
    onAdd: (node) => nodeChanged(undefined, node),
    onUpdate: nodeChanged,
    onDelete: (node) => nodeChanged(node, undefined),
  });
  reports?.addEventHandler({
    onAdd: (report) => reportChanged(undefined, report),
    onUpdate: reportChanged,
    onDelete: (report) => reportChanged(report, undefined),
  });
  const nodeOf = (name: string) => {
    const found = reportOf(name);
    return { internalIp: internalIpOf(name), report: found?.current, hasReported: found !== undefined };
  };
  return {
    inUse: (network, names) => nodesInUse(network, names, reports && nodeOf),
    mtu: () => mtu.get(),
    informers: reports ? [reports] : [],
  };
}

function isSame(a: ClusterNode | undefined, b: ClusterNode | undefined): boolean {
  return (
    a !== undefined && b !== undefined && isDeepStrictEqual([a.addresses, a.cidrs], [b.addresses, b.cidrs])
  );
}
