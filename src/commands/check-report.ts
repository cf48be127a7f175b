import type { SidecarState } from '../inject/sidecar-state.ts';

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
  /** One sentence each. */
  readonly because: readonly string[];
  /** The name of each template, with the start of its sha256. */
  readonly templates: readonly string[];
  /** The webhook that the API server sends such pods to. */
  readonly webhook?: string;
  /** What the API server said to a pod that was not stored. */
  readonly dryRun?: string;
  /** The pods that exist. */
  readonly pods?: readonly { readonly name: string; readonly sidecar: SidecarState }[];
  readonly findings: readonly CheckFinding[];
}

/** The report as people read it, a line each. */
export function formatReport(report: CheckReport): readonly string[] {
  const rows: (readonly [string, string])[] = [
    ['decision', decisionOf(report)],
    ...report.because.map((sentence) => ['', sentence] as const),
    ['template', report.templates.join(', ')],
    ['webhook', report.webhook ?? ''],
    ['dry run', report.dryRun ?? ''],
    ...(report.pods ?? []).map(
      ({ name, sidecar }, index) => [index === 0 ? 'pods' : '', `${name}: ${sidecar}`] as const,
    ),
  ];
  return [
    `${report.object} in namespace ${report.namespace}`,
    ...rows.filter(([, text]) => text !== '').map(([name, text]) => `  ${name.padEnd(10)}${text}`),
    ...report.findings.map(({ reason, message }) => `  ! ${reason}: ${message}`),
    ...(report.findings.length === 0 ? ['  nothing to be done'] : []),
  ];
}

function decisionOf({ decision, reason }: CheckReport): string {
  if (decision === 'inject') return 'with the sidecar';
  return `${decision === 'deny' ? 'refused' : 'without the sidecar'} (${reason})`;
}
