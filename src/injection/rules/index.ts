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

/** Why a pod cannot get its sidecar. */
export interface Obstacle {
  readonly reason: SkipReason;
  /** What is wrong and what to write instead: one sentence each, without a full stop. */
  readonly messages: readonly string[];
}

/** An obstacle as users see it everywhere: one line per message. */
export function explain({ reason, messages }: Obstacle): readonly string[] {
  return messages.map((message) => `${reason}: ${message}`);
}

/** Why a pod stays unchanged. */
export interface Skip extends Obstacle {
  readonly inject: false;
  /** Whether the pod itself opted in. */
  readonly explicit: boolean;
  /** Whether the client that creates the pod gets a warning. */
  readonly warn: boolean;
}
