import { type Diagnostic, formatDiagnostic } from '../../util/diagnostic.ts';
import { POD_RULES } from './pod-rules.ts';
import { conflict, invalidOverride, proxyUser, RESULT_RULES } from './sidecar-rules.ts';

/** All reasons, as the documents list them. `inject` asks POD_RULES in their order, then merges, then asks the others; with `proxyUser` a pod still gets its sidecar. */
export const RULES = [...POD_RULES, invalidOverride, conflict, ...RESULT_RULES, proxyUser] as const;

export type SkipReason = (typeof RULES)[number]['reason'];

/** Why a pod gets no sidecar, or how that of a pod does not work. */
export type PodDiagnostic = Diagnostic<SkipReason>;

/** A diagnostic for each message. */
export function diagnose(reason: SkipReason, messages: readonly string[]): readonly PodDiagnostic[] {
  return messages.map((message) => ({ severity: 'warning', reason, message }));
}

/** Diagnostics as users see them everywhere: one line each. */
export function explain(diagnostics: readonly PodDiagnostic[]): readonly string[] {
  return diagnostics.map((each) => `${each.reason}: ${formatDiagnostic(each)}`);
}

/** Why a pod stays unchanged. */
export interface Skip {
  readonly inject: false;
  readonly reason: SkipReason;
  /** At least one, of that reason. */
  readonly diagnostics: readonly PodDiagnostic[];
  /** Whether the pod itself opted in. */
  readonly explicit: boolean;
  /** Whether the client that creates the pod gets a warning. */
  readonly warn: boolean;
}
