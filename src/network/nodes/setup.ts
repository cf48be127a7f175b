import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/together.ts';
import { REPORT_LABEL, TABLE_NAME } from '../api/names.ts';
import type { ClusterNode } from '../ipam/cluster-objects.ts';
import type { NetworkPod } from '../pods/network-pods.ts';
import type { NodeCoverage } from './cluster-nodes.ts';
import { meshCoverage } from './mesh-coverage.ts';
import { NODE_REPORTS, NODE_TABLES, type ReportObject } from './node-objects.ts';
import { NodeTableController } from './node-table-controller.ts';

export interface MeshNodesOptions {
  readonly resyncMs: number;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly nodeAgentNamespace: string;
  readonly nodes: Informer<ClusterNode>;
  /** With the indices POD_INDEXERS. */
  readonly pods: Lister<NetworkPod>;
  /** Resolves when the leader knows all that Networks depend on. */
  readonly after: Task;
  /** Called when the coverage of all Networks may have changed. */
  readonly onReach: () => void;
  /** Called when the coverage of this Network may have changed. */
  readonly onReport: (key: ObjectKey) => void;
}

/** The nodes that agents join, and the coverage of Networks. */
export interface MeshNodes {
  readonly reach: NodeCoverage;
  /** Wait for their sync before you use `reach`. */
  readonly informers: readonly Pick<Informer<KubeObject>, 'waitForSync'>[];
}

const KEY = 'nodes';

/** Watches the reports of node agents on every replica; the leader writes the table of nodes. */
export function setUpMeshNodes(manager: Manager, options: MeshNodesOptions): MeshNodes {
  const { namespace, nodeAgentNamespace, nodes, pods, resyncMs, onReach } = options;
  const tables = manager.informer(NODE_TABLES, { namespace, fieldSelector: `metadata.name=${TABLE_NAME}` });
  const reports = manager.informer(NODE_REPORTS, {
    namespace: nodeAgentNamespace,
    labelSelector: REPORT_LABEL,
  });
  const table = () => tables.lister.get(`${namespace}/${TABLE_NAME}`);
  const controller = manager.controller('node-table');
  const tableController = new NodeTableController({
    client: manager.leaderClient,
    namespace,
    nodes: nodes.lister,
    table,
    reports: reports.lister,
    isHeld: (node) => pods.byIndex('node', node).length > 0,
  });
  const onTable = () => {
    controller.queue.add(KEY);
    onReach();
  };
  tables.addEventHandler({ onAdd: onTable, onUpdate: onTable, onDelete: onTable });
  reports.addEventHandler({
    onAdd: (report) => changed(undefined, report),
    onUpdate: changed,
    onDelete: (report) => changed(report, undefined),
  });
  nodes.addEventHandler(
    {
      onAdd: onTable,
      onUpdate: (previous, current) => {
        // A resync: the pods of deleted nodes may be deleted, too, by now.
        if (previous === current) controller.queue.add(KEY);
        else if (isChanged(previous, current)) onTable();
      },
      onDelete: onTable,
    },
    { resyncMs },
  );

  function changed(previous: ReportObject | undefined, current: ReportObject | undefined): void {
    const [before, after] = [previous?.report, current?.report];
    if (
      before?.table !== after?.table ||
      before?.number !== after?.number ||
      before?.problem !== after?.problem
    ) {
      onReach();
      return;
    }
    const keys = new Set([...Object.keys(before?.networks ?? {}), ...Object.keys(after?.networks ?? {})]);
    for (const key of keys) {
      if (before?.networks[key] !== after?.networks[key]) options.onReport(key);
    }
  }

  controller.reconcile((_, signal) => tableController.reconcile(signal), {
    keys: () => [KEY],
    after: options.after,
  });
  return {
    reach: meshCoverage({
      nodes: nodes.lister,
      table,
      reportOf: (node) => reports.lister.get(`${nodeAgentNamespace}/${node}`),
    }),
    informers: [tables, reports],
  };
}

/** Whether a relevant field has changed. The status of a node changes every few seconds. */
function isChanged(a: ClusterNode, b: ClusterNode): boolean {
  return a.isOpen !== b.isOpen || a.addresses.join() !== b.addresses.join();
}
