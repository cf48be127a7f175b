import type { RolloutPod } from './pod.ts';
import { namespaceOf, type Workload } from './workloads.ts';

/** A pod that may be changed now. */
export interface Candidate {
  readonly pod: RolloutPod;
  readonly how: 'change' | 'evict';
  readonly workload: Workload;
}

export interface PickOptions {
  /** Pods to pick at most. */
  readonly slots: number;
  /** How many more pods of a workload may stop serving. */
  readonly free: (workload: Workload) => number;
  /** When a pod of a node was last changed. */
  readonly touched: ReadonlyMap<string, number>;
  /** How many pods of a namespace have had their turn. */
  readonly recentIn: ReadonlyMap<string, number>;
}

/**
 * Picks in rounds, one pod of each workload in each round: namespaces take turns, so that none uses up the rate of all.
 * In a namespace, workloads of which the fewest pods are changed are first, and in a workload pods on nodes that were
 * not touched for the longest time. The same candidates give the same pods.
 */
export function pick(candidates: readonly Candidate[], options: PickOptions): readonly Candidate[] {
  const { slots, free, touched, recentIn } = options;
  if (slots <= 0) return [];
  const groups = new Map<Workload, Candidate[]>();
  for (const candidate of candidates) {
    const group = groups.get(candidate.workload);
    if (group) group.push(candidate);
    else groups.set(candidate.workload, [candidate]);
  }
  const turns = new Map(recentIn);
  const queues = [...groups]
    .map(([workload, all]) => ({ workload, free: free(workload), all }))
    .filter((queue) => queue.free > 0)
    .toSorted((a, b) => a.workload.changed - b.workload.changed || compare(a.workload.key, b.workload.key))
    .map((queue) => {
      const namespace = namespaceOf(queue.workload.key);
      const turn = turns.get(namespace) ?? 0;
      turns.set(namespace, turn + 1);
      return { ...queue, turn };
    })
    .toSorted((a, b) => a.turn - b.turn);
  const lastTouched = ({ node }: RolloutPod) => touched.get(node) ?? 0;
  const picked: Candidate[] = [];
  let open = queues.slice(0, slots).map((queue) => ({
    ...queue,
    all: queue.all.toSorted(
      (a, b) => lastTouched(a.pod) - lastTouched(b.pod) || compare(a.pod.uid, b.pod.uid),
    ),
  }));
  for (let round = 0; open.length > 0; round += 1) {
    open = open.filter((queue) => queue.free > round && round < queue.all.length);
    for (const { all } of open) {
      const next = all[round];
      if (next) picked.push(next);
      if (picked.length === slots) return picked;
    }
  }
  return picked;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
