import type { Logger } from 'pino';
import { OWN_LABELS } from '../json/own-names.ts';
import { CONFIG_MAPS } from '../kube/api/core-resources.ts';
import { Informer } from '../kube/cache/informer.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { Trigger } from '../kube/workqueue/trigger.ts';
import { NODE_AGENT_FIELD_MANAGER, REPORT_LABEL, TABLE_NAME } from '../network/api/names.ts';
import type { Network } from '../network/api/types.ts';
import { meshNetworkOf } from '../network/nodes/mesh-network.ts';
import { NODE_REPORTS, NODE_TABLES } from '../network/nodes/node-objects.ts';
import { type NodeReport, REPORT_KEY } from '../network/nodes/node-report.ts';
import { own } from '../network/nodes/node-table.ts';
import { bridgeName } from '../network/providers/multus/cni-config.ts';
import type { Host } from './host.ts';
import { Joiner } from './mesh.ts';
import type { NeededNetworks } from './needed-networks.ts';

export interface JoiningDutyOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly host: Host;
  /** The node's name. */
  readonly node: string;
  /** Where the table is. */
  readonly operatorNamespace: string;
  /** The agent's own, for its report. */
  readonly namespace: string;
  readonly networks: Informer<Network>;
  readonly needed: Pick<NeededNetworks, 'keys'>;
  /** How often the node is looked at without an event. */
  readonly intervalMs: number;
  readonly onReport: (report: NodeReport) => void;
}

/** Joins the networks of this node with those of the others. */
export interface JoiningDuty {
  /** What keeps pods of this node from a network; undefined where nothing does. */
  failure(): string | undefined;
  run(signal: AbortSignal): Promise<void>;
}

export function joiningDuty(options: JoiningDutyOptions): JoiningDuty {
  const { client, clock, log, host, node, operatorNamespace, namespace, networks, needed } = options;
  const tables = new Informer({
    client,
    clock,
    resource: NODE_TABLES,
    namespace: operatorNamespace,
    fieldSelector: `metadata.name=${TABLE_NAME}`,
    onError: informerLog(log, 'configmaps'),
  });
  // One's own alone: for when somebody removes it.
  const reports = new Informer({
    client,
    clock,
    resource: NODE_REPORTS,
    namespace,
    fieldSelector: `metadata.name=${node}`,
    onError: informerLog(log, 'configmaps'),
  });
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
  let failure: string | undefined = 'it has not looked at its node yet';

  async function round(signal: AbortSignal): Promise<void> {
    const report = await joiner.join();
    failure = report.problem;
    options.onReport(report);
    const text = JSON.stringify(report);
    if (reports.lister.get(`${namespace}/${node}`)?.text === text) return;
    log.info({ table: report.table, number: report.number, problem: report.problem }, 'reporting');
    await publish(text, signal);
  }

  /** With the Node as its owner, so that it goes when that does. */
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

  return {
    failure: () => failure,
    async run(signal) {
      const watching = [tables.run(signal), reports.run(signal)];
      // Before, what is not known yet would be taken away.
      await waitForSync([tables, reports, networks], signal);
      while (!signal.aborted) {
        await round(signal).catch((err: unknown) => {
          if (signal.aborted) return;
          failure = err instanceof Error ? err.message : String(err);
          log.error({ err }, 'the node cannot be joined');
        });
        await trigger.next(options.intervalMs, signal);
      }
      await Promise.all(watching);
    },
  };
}
