import { LIVE_PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { REPORT_LABEL } from '../api/names.ts';
import { PODS_OF_AGENTS } from './agent-pods.ts';
import { NetworkNodes, type NetworkNodesOptions } from './network-nodes.ts';
import { NODE_REPORTS } from './node-objects.ts';

export interface NodesOptions
  extends Omit<NetworkNodesOptions, 'reports' | 'namespace' | 'agents' | 'clock'> {
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
    const none = { reports: undefined, agents: undefined };
    return { networkNodes: new NetworkNodes({ ...options, ...none, namespace, clock }), informers: [] };
  }
  const reports = manager.informer(NODE_REPORTS, { namespace, labelSelector: REPORT_LABEL });
  // The watch of all pods, which Networks need anyway.
  const agents = manager.informer(PODS_OF_AGENTS, {
    fieldSelector: LIVE_PODS,
    keep: ({ metadata }) => metadata.namespace === namespace,
  });
  const networkNodes = new NetworkNodes({ ...options, namespace, reports, agents, clock });
  manager.everyReplica('agents', async () => networkNodes.tellOfGoneAgents(), { everyMs: LOOK_MS });
  manager.singleton('reported-ranges', async () => networkNodes.tellOfWideRanges(), { everyMs: LOOK_MS });
  return { networkNodes, informers: [reports, agents] };
}
