import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { type NodeReport, parseReport, REPORT_KEY, reportProblem } from './node-report.ts';

/** The ConfigMap of a report, decoded. */
export interface ReportObject extends KubeObject {
  readonly text: string | undefined;
  /** Undefined if the text is not a valid report of this release. */
  readonly current: NodeReport | undefined;
  /** Why there is no `current`. */
  readonly problem: string | undefined;
}

export const NODE_REPORTS: Resource<ReportObject> = {
  ...CONFIG_MAPS,
  decode(value) {
    const object: ConfigMap = CONFIG_MAPS.decode(value);
    const text = object.data?.[REPORT_KEY];
    return { metadata: identityOf(object), text, current: parseReport(text), problem: reportProblem(text) };
  },
};
