/**
 * Every reason for which a pod is left as it is, in the order in which they are looked for. They are part
 * of what users see (logs, metrics, warnings, `check`) and each is explained in docs/reasons.md.
 */
export const SKIP_REASONS = [
  'not-a-pod-create',
  'system-namespace',
  'operator-namespace',
  'mirror-pod',
  'windows',
  'host-network',
  'no-containers',
  'invalid-value',
  'opted-out',
  'not-opted-in',
  'no-template',
  'unknown-template',
  'already-injected',
  'container-exists',
  'invalid-override',
  'conflict',
  'pod-resources',
  'grace-period',
  'pod-security',
] as const;

export type SkipReason = (typeof SKIP_REASONS)[number];

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

/** The text cut to a number of UTF-16 units, with an ellipsis where something is missing. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  // Half a surrogate pair is no character.
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
