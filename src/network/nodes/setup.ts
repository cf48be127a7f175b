import type { KubeObject } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { REPORT_LABEL } from '../api/names.ts';
import { NetworkNodes, type NetworkNodesOptions } from './network-nodes.ts';
import { NODE_REPORTS } from './node-objects.ts';

export interface NodesOptions extends Omit<NetworkNodesOptions, 'reports' | 'namespace'> {
  /** The namespace of the node agents; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
}

/** What Networks need to know of nodes, and the informers to wait for before its first use. */
export interface Nodes {
  readonly networkNodes: NetworkNodes;
  readonly informers: readonly Pick<Informer<KubeObject>, 'waitForSync'>[];
}

/** Watches the reports of node agents on every replica. */
export function setUpNodes(manager: Manager, { nodeAgentNamespace, ...options }: NodesOptions): Nodes {
  const namespace = nodeAgentNamespace ?? '';
  const reports =
    nodeAgentNamespace === undefined
      ? undefined
      : manager.informer(NODE_REPORTS, { namespace, labelSelector: REPORT_LABEL });
  const networkNodes = new NetworkNodes({ ...options, namespace, reports });
  return { networkNodes, informers: reports ? [reports] : [] };
}
