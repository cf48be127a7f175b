import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { type NodeReport, parseReport, REPORT_KEY } from './node-report.ts';
import { digestOf, type NodeTable, parseTable } from './node-table.ts';
import { type OldNodeReport, parseOldReport } from './old-report.ts';

/** The ConfigMap key of the table, which is JSON. */
export const TABLE_KEY = 'nodes';

/** The ConfigMap of the table, decoded. */
export interface TableObject extends KubeObject {
  /** The table as stored. */
  readonly text: string | undefined;
  /** Undefined if the text is not a valid table. */
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

/** The ConfigMap of a report, decoded. */
export interface ReportObject extends KubeObject {
  readonly text: string | undefined;
  /** Undefined if the text is not a valid report. */
  readonly report: OldNodeReport | undefined;
  /** Undefined if the text is not a valid report of this release. */
  readonly current?: NodeReport | undefined;
}

export const NODE_REPORTS: Resource<ReportObject> = {
  ...CONFIG_MAPS,
  decode(value) {
    const object: ConfigMap = CONFIG_MAPS.decode(value);
    const text = object.data?.[REPORT_KEY];
    return { metadata: identityOf(object), text, report: parseOldReport(text), current: parseReport(text) };
  },
};
