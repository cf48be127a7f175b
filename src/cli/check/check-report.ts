import type { SidecarState } from '../../sidecar/sidecar-state.ts';

/** Something to be done about. */
export interface CheckFinding {
  /** A reason of docs/reasons.md, or one of `check` itself (docs/cli.md). */
  readonly reason: string;
  readonly message: string;
}

/** What `check` says about one pod, workload or object of a file. */
export interface CheckReport {
  /** `deployment/web`. */
  readonly object: string;
  readonly namespace: string;
  /** What would become of its pods if they were created now. */
  readonly decision: 'inject' | 'skip' | 'deny';
  /** Why not; a reason of docs/reasons.md. */
  readonly reason?: string;
  /** Whose label or annotation decides: of the pod, of the namespace, or none. */
  readonly askedBy: string;
  /** What else there is to know, a sentence each. */
  readonly because: readonly string[];
  /** The name of each template, with the start of its sha256. */
  readonly templates: readonly string[];
  /** The webhook that the API server sends such pods to, and what becomes of them when it does not answer. */
  readonly webhook?: string;
  readonly failurePolicy?: string;
  /** What the API server said to a pod that was not stored. */
  readonly dryRun?: string;
  /** The pods that exist. */
  readonly pods?: readonly { readonly name: string; readonly sidecar: SidecarState }[];
  readonly findings: readonly CheckFinding[];
}

const MAX_PODS = 10;

/** The report as people read it, a line each. */
export function formatReport(report: CheckReport): readonly string[] {
  const rows: (readonly [string, string])[] = [
    ['decision', decisionOf(report)],
    ['asked by', report.askedBy],
    ...report.because.map((sentence) => ['', sentence] as const),
    ['template', report.templates.join(', ')],
    ['webhook', webhookOf(report)],
    ['dry run', report.dryRun ?? ''],
    ...podsOf(report).map((line, index) => [index === 0 ? 'pods' : '', line] as const),
  ];
  return [
    `${report.object} in namespace ${report.namespace}`,
    ...rows.filter(([, text]) => text !== '').map(([name, text]) => `  ${name.padEnd(10)}${text}`),
    ...report.findings.map(({ reason, message }) => `  ! ${reason}: ${message}`),
    ...(report.findings.length === 0 ? ['  nothing to be done'] : []),
  ];
}

/** Each of a few; of many, the first and how many others there are of each kind. */
function podsOf({ pods = [] }: CheckReport): readonly string[] {
  const shown = pods.length > MAX_PODS ? pods.slice(0, MAX_PODS - 1) : pods;
  const more = new Map<SidecarState, number>();
  for (const { sidecar } of pods.slice(shown.length)) more.set(sidecar, (more.get(sidecar) ?? 0) + 1);
  return [
    ...shown.map(({ name, sidecar }) => `${name}: ${sidecar}`),
    ...Array.from(more, ([sidecar, count]) => `and ${count} more: ${sidecar}`),
  ];
}

function webhookOf({ webhook, failurePolicy }: CheckReport): string {
  if (webhook === undefined) return '';
  const otherwise =
    failurePolicy === 'Fail' ? 'such pods are refused' : 'such pods are admitted without the sidecar';
  return `${webhook}; when it does not answer, ${otherwise}`;
}

function decisionOf({ decision, reason }: CheckReport): string {
  if (decision === 'inject') return 'with the sidecar';
  return `${decision === 'deny' ? 'refused' : 'without the sidecar'} (${reason})`;
}
