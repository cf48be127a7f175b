import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { type NodeReport, parseReport, REPORT_KEY } from './node-report.ts';
import { digestOf, type NodeTable, parseTable } from './node-table.ts';

/** The key of the table's ConfigMap under which it is, as JSON. */
export const TABLE_KEY = 'nodes';

/** The table as an object of the API. */
export interface TableObject extends KubeObject {
  /** As it is written. */
  readonly text: string | undefined;
  /** Undefined where somebody has written what is none. */
  readonly table: NodeTable | undefined;
  readonly digest: string;
}

export const NODE_TABLES: Resource<TableObject> = {
  ...CONFIG_MAPS,
  decode(value) {
    const object: ConfigMap = CONFIG_MAPS.decode(value);
    const text = object.data?.[TABLE_KEY];
    return { metadata: identityOf(object), text, table: parseTable(text), digest: digestOf(text ?? '') };
  },
};

/** What a node agent says, as an object of the API. */
export interface ReportObject extends KubeObject {
  readonly text: string | undefined;
  /** Undefined where somebody has written what is none. */
  readonly report: NodeReport | undefined;
}

export const NODE_REPORTS: Resource<ReportObject> = {
  ...CONFIG_MAPS,
  decode(value) {
    const object: ConfigMap = CONFIG_MAPS.decode(value);
    const text = object.data?.[REPORT_KEY];
    return { metadata: identityOf(object), text, report: parseReport(text) };
  },
};
