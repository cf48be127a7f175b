import { type Diagnostic, formatDiagnostic } from '../../util/diagnostic.ts';
import { alreadyInjected } from './already-injected.ts';
import { conflict } from './conflict.ts';
import { containerExists } from './container-exists.ts';
import { hostNetwork } from './host-network.ts';
import { invalidOverride } from './invalid-override.ts';
import { invalidValue } from './invalid-value.ts';
import { mirrorPod } from './mirror-pod.ts';
import { noContainers } from './no-containers.ts';
import { noTemplate } from './no-template.ts';
import { notAPodCreate } from './not-a-pod-create.ts';
import { notOptedIn } from './not-opted-in.ts';
import { operatorNamespace } from './operator-namespace.ts';
import { optedOut } from './opted-out.ts';
import { proxyUser } from './proxy-user.ts';
import { gracePeriod, limitRange, podResources, podSecurity } from './refusals.ts';
import { systemNamespace } from './system-namespace.ts';
import { unknownTemplate } from './unknown-template.ts';
import { windows } from './windows.ts';

/** The rules for each reason to leave a pod unchanged, in their order: the first match decides. */
export const RULES = [
  notAPodCreate,
  systemNamespace,
  operatorNamespace,
  mirrorPod,
  windows,
  hostNetwork,
  noContainers,
  invalidValue,
  optedOut,
  notOptedIn,
  noTemplate,
  unknownTemplate,
  alreadyInjected,
  containerExists,
  invalidOverride,
  conflict,
  podResources,
  gracePeriod,
  podSecurity,
  limitRange,
  proxyUser,
] as const;

/** The rules that run before the merge. */
export const POD_RULES = RULES.filter((rule) => 'find' in rule);
/** The rules that check the result of the merge. */
export const RESULT_RULES = RULES.filter((rule) => 'violations' in rule);

/** The rules about pods that get their sidecar. */
export const ADVICE_RULES = RULES.filter((rule) => 'advice' in rule);

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
