import { CONFIG_MAPS, type ConfigMap } from '../kube/core-resources.ts';
import type { KubeObject } from '../kube/object.ts';
import type { Resource } from '../kube/resource.ts';
import { type NodeReport, parseReport, REPORT_KEY } from './node-report.ts';
import { digestOf, type NodeTable, parseTable } from './node-table.ts';

/** The ConfigMap in the operator's namespace in which the table is, as JSON. */
export const TABLE_NAME = 'envoy-initializer-nodes';
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
  narrow(value) {
    const { metadata, data }: ConfigMap = CONFIG_MAPS.narrow(value);
    const text = data?.[TABLE_KEY];
    return { metadata, text, table: parseTable(text), digest: digestOf(text ?? '') };
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
  narrow(value) {
    const { metadata, data }: ConfigMap = CONFIG_MAPS.narrow(value);
    const text = data?.[REPORT_KEY];
    return { metadata, text, report: parseReport(text) };
  },
};
