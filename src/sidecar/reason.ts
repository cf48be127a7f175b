import { alreadyInjected } from './rules/already-injected.ts';
import { conflict } from './rules/conflict.ts';
import { containerExists } from './rules/container-exists.ts';
import { gracePeriod } from './rules/grace-period.ts';
import { hostNetwork } from './rules/host-network.ts';
import { invalidOverride } from './rules/invalid-override.ts';
import { invalidValue } from './rules/invalid-value.ts';
import { mirrorPod } from './rules/mirror-pod.ts';
import { noContainers } from './rules/no-containers.ts';
import { noTemplate } from './rules/no-template.ts';
import { notAPodCreate } from './rules/not-a-pod-create.ts';
import { notOptedIn } from './rules/not-opted-in.ts';
import { operatorNamespace } from './rules/operator-namespace.ts';
import { optedOut } from './rules/opted-out.ts';
import { podResources } from './rules/pod-resources.ts';
import { podSecurity } from './rules/pod-security.ts';
import { systemNamespace } from './rules/system-namespace.ts';
import { unknownTemplate } from './rules/unknown-template.ts';
import { windows } from './rules/windows.ts';

/** Every reason to leave a pod as it is, in the order in which they are looked for: the first one decides. */
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
] as const;

/** Those that are found before the templates are merged. */
export const POD_RULES = RULES.filter((rule) => 'find' in rule);
/** Those that are found in the result. */
export const RESULT_RULES = RULES.filter((rule) => 'violations' in rule);

export type SkipReason = (typeof RULES)[number]['reason'];

/** What stands between a pod and its sidecar. */
export interface Obstacle {
  readonly reason: SkipReason;
  /** What was found, one sentence each without a full stop, and what to write instead where that helps. */
  readonly messages: readonly string[];
}

/** An obstacle as people read it, a line for each thing found: the same wherever they meet it. */
export function explain({ reason, messages }: Obstacle): readonly string[] {
  return messages.map((message) => `${reason}: ${message}`);
}

/** Why a pod is left as it is. */
export interface Skip extends Obstacle {
  readonly inject: false;
  /** Whether the pod itself asked for its sidecar. */
  readonly explicit: boolean;
  /** Whether whoever creates the pod is told. */
  readonly warn: boolean;
}
