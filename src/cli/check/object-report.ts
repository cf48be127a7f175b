import type { Column } from '../io/output.ts';
import type { CheckFinding } from './check-report.ts';

/** The result of `check` for an object that is no workload, such as `httproute/web`, or for a request of a pod. */
export interface ObjectReport {
  /** `httproute/web`, or `pod/a to http://web/`. */
  readonly object: string;
  readonly namespace: string;
  readonly because: readonly string[];
  readonly findings: readonly CheckFinding[];
}

export const OBJECT_REPORT_COLUMNS: readonly Column<ObjectReport>[] = [
  { name: 'NAMESPACE', of: ({ namespace }) => namespace },
  { name: 'NAME', of: ({ object }) => object },
  { name: 'FINDINGS', of: ({ findings }) => findings.map(({ reason }) => reason).join(',') || 'none' },
];

/** The lines of the report for people. */
export function formatObjectReport({
  object,
  namespace,
  because,
  findings,
}: ObjectReport): readonly string[] {
  return [
    `${object} in namespace ${namespace}`,
    ...because.map((line) => `  ${line}`),
    ...findings.map(({ reason, message }) => `  ! ${reason}: ${message}`),
    ...(findings.length === 0 ? ['  no problems found'] : []),
  ];
}
