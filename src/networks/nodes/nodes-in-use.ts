import { type KubeObject, keyOf } from '../../kube/api/object.ts';
import { clip, listed } from '../../util/clip.ts';
import { type ConditionUpdate, conditionOf } from '../api/conditions.ts';
import type { Network, NetworkNode } from '../api/types.ts';
import type { NodesInUse } from '../providers.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { ReportObject } from './node-report.ts';

export interface KnownNode {
  readonly node?: Pick<ClusterNode, 'addresses' | 'isAway'> | undefined;
  readonly report?: Pick<ReportObject, 'current' | 'problem'> | undefined;
  /** The pod of its agent, if it is not there. `isGone`: for longer than a DaemonSet takes to replace it. */
  readonly missingPod?: { readonly name: string; readonly isGone: boolean } | undefined;
}

/** Reasons of NodesReady. The message tells all, and the reason is the first of them. */
const REASONS = ['NodeFailed', 'NoMultus', 'InterfaceMissing', 'NoAgent'] as const;

interface Trouble {
  readonly name: string;
  readonly reason: (typeof REASONS)[number];
  readonly why: string;
}

/** A message names at most this many nodes, and counts the others. */
const NAMED_NODES = 3;
/** The longest words of an agent in a message, in UTF-16 units. */
export const MAX_WORDS = 300;

const NO_AGENTS: ConditionUpdate = {
  status: 'False',
  reason: 'NoAgent',
  message:
    'no node agent is running, so pods on the Network cannot start: install component "networks" (docs/install.md)',
};

/**
 * The nodes with these names, on which pods of the Network run, and whether they work. `lacking` are the pods that run
 * without their interface, by node. `nodeOf` is undefined if the cluster has no node agents. An address that was known stays until the pods of the node are gone.
 */
export function nodesInUse(
  network: Network,
  names: readonly string[],
  nodeOf: ((name: string) => KnownNode) | undefined,
  lacking: ReadonlyMap<string, readonly KubeObject[]> = new Map(),
): NodesInUse {
  const before = new Map(network.status?.nodes?.map(({ name, address }) => [name, address]));
  const nodes: NetworkNode[] = [];
  const troubles: Trouble[] = [];
  for (const name of names.toSorted()) {
    const known = nodeOf?.(name);
    const [internalIp] = known?.node?.addresses ?? [];
    const address = known?.report?.current?.underlay?.address ?? before.get(name) ?? internalIp;
    if (address !== undefined) nodes.push({ name, address });
    const trouble = known && troubleOf(network, name, known, address);
    if (trouble) troubles.push(trouble);
    const pods = lacking.get(name);
    if (pods) {
      const why = `recreate the pods that lack their interface: ${listed(pods.map(keyOf).toSorted(), NAMED_NODES)}`;
      troubles.push({ name, reason: 'InterfaceMissing', why });
    }
  }
  const isNone = nodeOf === undefined && lacking.size === 0;
  return { nodes, condition: isNone ? NO_AGENTS : conditionOfNodes(names.length, troubles) };
}

function troubleOf(
  network: Network,
  name: string,
  { node, report: told, missingPod }: KnownNode,
  address: string | undefined,
): Trouble | undefined {
  const report = told?.current;
  if (node?.isAway) return { name, reason: 'NodeFailed', why: 'the Node is not Ready' };
  if (!report) {
    const why = told?.problem ?? 'its node agent has not reported';
    return { name, reason: 'NoAgent', why: clip(why, MAX_WORDS) };
  }
  if (missingPod && (missingPod.isGone || lackedAgent(network))) {
    return {
      name,
      reason: 'NoAgent',
      why: `the pod of its node agent is gone: ${clip(missingPod.name, MAX_WORDS)}`,
    };
  }
  if (report.withoutMultus !== undefined)
    return { name, reason: 'NoMultus', why: clip(report.withoutMultus, MAX_WORDS) };
  if (address === undefined) return { name, reason: 'NodeFailed', why: 'it has no InternalIP' };
  const key = keyOf(network);
  const problem = Object.hasOwn(report.problems, key) ? report.problems[key] : undefined;
  return problem === undefined ? undefined : { name, reason: 'NodeFailed', why: clip(problem, MAX_WORDS) };
}

/** Whether the Network is known to lack an agent. An operator that has just started has not waited for the pod yet. */
function lackedAgent({ status }: Network): boolean {
  return conditionOf(status?.conditions, 'NodesReady')?.reason === 'NoAgent';
}

function conditionOfNodes(count: number, troubles: readonly Trouble[]): ConditionUpdate {
  if (troubles.length === 0) {
    const message =
      count === 0 ? 'no node has pods on the Network' : 'the nodes with pods on it are connected';
    return { status: 'True', reason: 'NodesReady', message };
  }
  const named = troubles.map(({ name, why }) => `${name} (${why})`);
  const reason = REASONS.find((each) => troubles.some((trouble) => trouble.reason === each)) ?? 'NoAgent';
  const message = `pods on these nodes may be unable to reach others: ${listed(named, NAMED_NODES)}`;
  return { status: 'False', reason, message };
}
