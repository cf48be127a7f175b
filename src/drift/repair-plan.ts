import type { KubeObject } from '../kube/api/object.ts';

/** Why a missed pod is reported and not evicted. */
export type Spared = 'no-controller' | 'job' | 'too-old' | 'workload-busy' | 'going';

export interface RepairRules {
  /** Milliseconds since its creation during which a pod may be evicted: labelling a live namespace evicts nobody. */
  readonly windowMs: number;
  /** UIDs of the controllers of which a pod is being replaced. */
  readonly busy: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Why a missed pod is not to be evicted now; undefined when it may be. */
export function spared({ metadata }: KubeObject, { windowMs, busy, now }: RepairRules): Spared | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (metadata.deletionTimestamp !== undefined) return 'going';
  if (owner === undefined) return 'no-controller';
  // A Job counts an evicted pod as a failed one.
  if (owner.kind === 'Job') return 'job';
  if (now - Date.parse(metadata.creationTimestamp ?? '') > windowMs) return 'too-old';
  return busy.has(owner.uid) ? 'workload-busy' : undefined;
}
