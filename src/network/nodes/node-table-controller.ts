import { isAlreadyExists, isConflict } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Result } from '../../kube/controller/controller.ts';
import { FIELD_MANAGER, TABLE_NAME } from '../api/names.ts';
import type { ClusterNode } from '../ipam/cluster-objects.ts';
import { type ReportObject, TABLE_KEY, type TableObject } from './node-objects.ts';
import { type NodeTable, nextTable, type TableNode } from './node-table.ts';

export interface NodeTableControllerOptions {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly nodes: Pick<Lister<ClusterNode>, 'list'>;
  readonly table: () => TableObject | undefined;
  readonly reports: Pick<Lister<ReportObject>, 'list'>;
  /** Whether pods of a deleted node still have addresses of its slices. */
  readonly isHeld: (node: string) => boolean;
}

/**
 * Keeps the table of nodes in one object. Each write requires the latest version, so two nodes never get the same
 * number, even if two replicas believe to lead.
 */
export class NodeTableController {
  readonly #options: NodeTableControllerOptions;

  constructor(options: NodeTableControllerOptions) {
    this.#options = options;
  }

  async reconcile(signal: AbortSignal): Promise<Result> {
    const { client, namespace, nodes, table, reports, isHeld } = this.#options;
    const found = table();
    const there = nodes.list().map(tableNode);
    // If the table was deleted or overwritten, the reports of the agents have the numbers.
    const previous = found?.table ?? tableOf(reports.list());
    const text = JSON.stringify(nextTable(previous, there, isHeld));
    if (found?.text === text) return {};
    const { resourceVersion } = found?.metadata ?? {};
    const data = { [TABLE_KEY]: text };
    const ref = { namespace, name: TABLE_NAME };
    const options = { fieldManager: FIELD_MANAGER, signal };
    try {
      if (found) await client.mergePatch(CONFIG_MAPS, ref, { metadata: { resourceVersion }, data }, options);
      else await client.create(CONFIG_MAPS, newTable(ref, data), options);
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      // The cache will receive the newer version.
      return { requeueAfterMs: 0 };
    }
    return {};
  }
}

function newTable(
  ref: { readonly namespace: string; readonly name: string },
  data: ConfigMap['data'],
): ConfigMap {
  const metadata = { ...ref, labels: { app: FIELD_MANAGER } };
  return { apiVersion: 'v1', kind: CONFIG_MAPS.kind, metadata, ...(data && { data }) };
}

function tableNode({ metadata: { name, uid = '' }, addresses }: ClusterNode): TableNode {
  return { name, uid, addresses };
}

function tableOf(reports: readonly ReportObject[]): NodeTable {
  return Object.fromEntries(
    reports.flatMap(({ metadata, report }) =>
      report?.number === undefined
        ? []
        : [[metadata.name, { number: report.number, addresses: [], uid: '' }] as const],
    ),
  );
}
