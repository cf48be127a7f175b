import type { SidecarState } from '../../injection/webhook/classify.ts';
import type { Diagnostic } from '../../util/diagnostic.ts';

/** A problem that the user should solve: its reason is one of docs/troubleshooting.md, or of `check` itself. */
export type CheckFinding = Pick<Diagnostic, 'reason' | 'message'>;

/** The result of `check` for an object that is no workload, such as `httproute/web`, or for a request of a pod. */
export interface ObjectReport {
  /** `httproute/web`, or `pod/a to http://web/`. */
  readonly object: string;
  readonly namespace: string;
  /** Explanations, one sentence each. */
  readonly because: readonly string[];
  readonly findings: readonly CheckFinding[];
}

/** The result of `check` for one pod, workload or object of a file. */
export interface CheckReport extends ObjectReport {
  /** What happens to its pods when they are created now. */
  readonly decision: 'inject' | 'skip' | 'deny';
  /** Why its pods get no sidecar; a reason of docs/troubleshooting.md. */
  readonly reason?: string;
  /** The label or annotation that decides. */
  readonly askedBy: string;
  /** The name of each template, with the start of its sha256. */
  readonly templates: readonly string[];
  /** What selects the templates: the pod, its namespace or the default. */
  readonly selectedBy?: string;
  /** The webhook to which the API server sends such pods. */
  readonly webhook?: string;
  readonly failurePolicy?: string;
  /** Whether admission policies inject most such pods, with the webhook or without. */
  readonly policies?: boolean;
  /** The answer of the API server to a dry run. */
  readonly dryRun?: string;
  /** The pods that exist. */
  readonly pods?: readonly { readonly name: string; readonly sidecar: SidecarState }[];
}

/** The lines of a report for people. */
export function formatObjectReport(
  report: ObjectReport,
  facts: readonly string[] = report.because,
): readonly string[] {
  const { object, namespace, findings } = report;
  return [
    `${object} in namespace ${namespace}`,
    ...facts.map((line) => `  ${line}`),
    ...findings.map(({ reason, message }) => `  ! ${reason}: ${message}`),
    ...(findings.length === 0 ? ['  no problems found'] : []),
  ];
}

const MAX_PODS = 10;

/** The lines of the report for people. */
export function formatReport(report: CheckReport): readonly string[] {
  const rows: (readonly [string, string])[] = [
    ['decision', decisionOf(report)],
    ['opt-in', report.askedBy],
    ...report.because.map((sentence) => ['', sentence] as const),
    ['template', report.templates.join(', ')],
    ['', report.selectedBy === undefined ? '' : `selected by ${report.selectedBy}`],
    ['webhook', webhookOf(report)],
    ['dry run', report.dryRun ?? ''],
    ...podsOf(report).map((line, index) => [index === 0 ? 'pods' : '', line] as const),
  ];
  const facts = rows.filter(([, text]) => text !== '').map(([name, text]) => `${name.padEnd(10)}${text}`);
  return formatObjectReport(report, facts);
}

/** The reports with findings, and the numbers. */
export function formatReports(reports: readonly CheckReport[]): readonly string[] {
  const wrong = reports.filter(({ findings }) => findings.length > 0);
  return [...wrong.flatMap(formatReport), `${reports.length} checked, ${wrong.length} with findings`];
}

/** The first pods by name, and the number of the others by state. */
function podsOf({ pods = [] }: CheckReport): readonly string[] {
  const shown = pods.length > MAX_PODS ? pods.slice(0, MAX_PODS - 1) : pods;
  const more = Map.groupBy(pods.slice(shown.length), ({ sidecar }) => sidecar);
  return [
    ...shown.map(({ name, sidecar }) => `${name}: ${sidecar}`),
    ...Array.from(more, ([sidecar, others]) => `and ${others.length} more: ${sidecar}`),
  ];
}

function webhookOf({ webhook, failurePolicy, policies = false }: CheckReport): string {
  if (webhook === undefined) return '';
  const pods = policies ? 'the others' : 'such pods';
  const otherwise =
    failurePolicy === 'Fail'
      ? `the API server refuses ${pods}`
      : `the API server admits ${pods} without the sidecar`;
  const injected = policies ? 'admission policies inject most pods, and ' : '';
  return `${webhook}; if it does not answer, ${injected}${otherwise}`;
}

function decisionOf({ decision, reason }: CheckReport): string {
  if (decision === 'inject') return 'with the sidecar';
  if (reason === 'already-injected') return `with the sidecar that it has (${reason})`;
  return `${decision === 'deny' ? 'refused' : 'without the sidecar'} (${reason})`;
}
