import type { PodShare } from '../../../injection/template/strategy.ts';
import type { RolloutPod } from './pod.ts';

/** The pods of one controller, or of all controllers that one workload has created, such as the ReplicaSets of a Deployment. */
export interface Workload {
  readonly key: string;
  /** Pods that are not being deleted. */
  replicas: number;
  /** Pods that do not serve: not Ready, being deleted, drained, or changed a moment ago. */
  busy: number;
  /** When the rollout changed or replaced one of its pods last. */
  madeAt: number;
  /** Pods that have been changed in this rollout. */
  changed: number;
}

/** A pod that may be changed now. */
export interface Candidate {
  readonly pod: RolloutPod;
  readonly how: 'change' | 'evict';
  readonly workload: Workload;
}

/** The pods by their controllers; a pod without a controller is a workload of its own. */
export class Workloads {
  readonly #byKey = new Map<string, Workload>();

  /** The workload of a pod. */
  of(pod: Pick<RolloutPod, 'key' | 'owner' | 'uid'>): Workload {
    const key = workloadKey(pod);
    const known = this.#byKey.get(key);
    if (known) return known;
    const workload = { key, replicas: 0, busy: 0, madeAt: 0, changed: 0 };
    this.#byKey.set(key, workload);
    return workload;
  }
}

export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** An owner is in the namespace of its pods. A pod that names an owner of another namespace does not join its workload. */
export function workloadKey({ key, owner, uid }: Pick<RolloutPod, 'key' | 'owner' | 'uid'>): string {
  const workload = owner?.creator === undefined ? (owner?.uid ?? uid) : `${owner.kind} ${owner.creator}`;
  return `${namespaceOf(key)}/${workload}`;
}

/** How many more pods of a workload may stop serving. Percentages are rounded up, so that it is at least one pod. */
export function freeIn({ replicas, busy }: Pick<Workload, 'replicas' | 'busy'>, share: PodShare): number {
  const most = 'count' in share ? share.count : Math.max(1, Math.ceil((share.percent * replicas) / 100));
  return most - busy;
}
