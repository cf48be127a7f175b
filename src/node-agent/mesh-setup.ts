import { OWN_LABELS } from '../json/own-names.ts';
import { CONFIG_MAPS } from '../kube/api/core-resources.ts';
import type { Informer } from '../kube/cache/informer.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { Trigger } from '../kube/workqueue/trigger.ts';
import { NODE_AGENT_FIELD_MANAGER, REPORT_LABEL, TABLE_NAME } from '../network/api/names.ts';
import type { Network } from '../network/api/types.ts';
import { meshNetworkOf } from '../network/nodes/mesh-network.ts';
import { NODE_REPORTS, NODE_TABLES } from '../network/nodes/node-objects.ts';
import { REPORT_KEY } from '../network/nodes/node-report.ts';
import { own } from '../network/nodes/node-table.ts';
import type { OldNodeReport as NodeReport } from '../network/nodes/old-report.ts';
import { bridgeName } from '../network/providers/multus/cni-config.ts';
import type { Host } from './host.ts';
import { Joiner } from './joiner.ts';
import type { NeededNetworks } from './needed-networks.ts';

export interface MeshOptions {
  readonly host: Host;
  /** The name of the node. */
  readonly node: string;
  /** The namespace of the table. */
  readonly operatorNamespace: string;
  /** The agent's namespace, for its report. */
  readonly namespace: string;
  readonly networks: Informer<Network>;
  readonly needed: Pick<NeededNetworks, 'keys'>;
  /** How often the node is checked without an event. */
  readonly intervalMs: number;
  readonly onReport: (report: NodeReport) => void;
}

/** Sets up the join of the networks of this node with those of the other nodes. */
export function setUpMesh(manager: Manager, options: MeshOptions): void {
  const { host, node, operatorNamespace, namespace, networks, needed } = options;
  const { client, log } = manager;
  const tables = manager.informer(NODE_TABLES, {
    namespace: operatorNamespace,
    fieldSelector: `metadata.name=${TABLE_NAME}`,
  });
  // Only its own report, to restore it after a deletion.
  const reports = manager.informer(NODE_REPORTS, { namespace, fieldSelector: `metadata.name=${node}` });
  const table = () => tables.lister.get(`${operatorNamespace}/${TABLE_NAME}`);
  const joiner = new Joiner({
    node,
    host,
    table: () => table()?.text,
    networks: (mtu) => networks.lister.list().flatMap((network) => meshNetworkOf(network, mtu) ?? []),
    needed() {
      const keys = needed.keys();
      return keys && new Set(Array.from(keys, bridgeName));
    },
    log,
  });
  const trigger = new Trigger();
  const fire = () => trigger.fire();
  for (const informer of [tables, reports, networks]) {
    informer.addEventHandler({ onAdd: fire, onUpdate: fire, onDelete: fire });
  }
  let failure: string | undefined = 'node state not read yet';

  async function round(signal: AbortSignal): Promise<void> {
    const report = await joiner.join();
    failure = report.problem;
    options.onReport(report);
    const text = JSON.stringify(report);
    if (reports.lister.get(`${namespace}/${node}`)?.text === text) return;
    log.info({ table: report.table, number: report.number, problem: report.problem }, 'publishing report');
    await publish(text, signal);
  }

  /** Publishes the report. The Node owns it, so that it is deleted with the Node. */
  async function publish(text: string, signal: AbortSignal): Promise<void> {
    const uid = own(table()?.table ?? {}, node)?.uid;
    const owner = { apiVersion: 'v1', kind: 'Node', name: node, uid };
    const report = {
      apiVersion: 'v1',
      kind: CONFIG_MAPS.kind,
      metadata: {
        name: node,
        namespace,
        labels: { ...OWN_LABELS, [REPORT_LABEL]: '' },
        ...(uid && { ownerReferences: [owner] }),
      },
      data: { [REPORT_KEY]: text },
    };
    const how = { fieldManager: NODE_AGENT_FIELD_MANAGER, force: true, signal };
    await client.apply(CONFIG_MAPS, { namespace, name: node }, report, how);
  }

  async function keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await round(signal).catch((err: unknown) => {
        if (signal.aborted) return;
        failure = err instanceof Error ? err.message : String(err);
        log.error({ err }, 'cannot join the networks of the node');
      });
      await trigger.next(options.intervalMs, signal);
    }
  }

  manager.addReadyz('joined', () => failure);
  // Without the caches, it would delete what it does not know yet.
  manager.everyReplica('mesh', keep, { after: (signal) => waitForSync([tables, reports, networks], signal) });
}
