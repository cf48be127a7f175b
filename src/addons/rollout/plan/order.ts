import type { PodShare } from '../../../injection/template/strategy.ts';
import type { Change } from './health.ts';
import { type Candidate, freeIn, namespaceOf, type RolloutPod, type Workload } from './pod.ts';
import type { Survey } from './survey.ts';

/**
 * Picks in rounds, one pod of each workload in each round: namespaces take turns, so that none uses up the rate of all.
 * In a namespace, workloads of which the fewest pods are changed are first, and in a workload pods on nodes that were
 * not touched for the longest time. The same candidates give the same pods. `free`: how many more pods of a workload may
 * stop serving.
 */
function pick(
  candidates: readonly Candidate[],
  slots: number,
  { changes, recentIn }: Pick<Survey, 'changes' | 'recentIn'>,
  free: (workload: Workload) => number,
): readonly Candidate[] {
  if (slots <= 0) return [];
  const touched = touchedNodes(changes);
  const groups = Map.groupBy(candidates, ({ workload }) => workload);
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

const isBroken = ({ pod }: Candidate) => pod.ready === false;
/** Whether it serves, as far as is known. */
export const isServing = ({ pod }: Candidate) => pod.ready !== false;

/**
 * The candidates that start now, at most `slots` of them. Pods that do not serve come first, and take nothing from their
 * workload; after a halt, all of them go back at once. But they prove little, so that the first proof comes from others,
 * unless none of them can start: broken pods may use up what their workload can spare.
 */
export function choose(
  open: readonly Candidate[],
  survey: Survey,
  slots: number,
  maxUnavailable: PodShare,
  goesBack: boolean,
): readonly Candidate[] {
  const { good, pending } = survey.health;
  const pickServing = (most: number) =>
    pick(open.filter(isServing), most, survey, (workload) => freeIn(workload, maxUnavailable));
  if (goesBack) return [...open.filter(isBroken), ...pickServing(slots)];
  if (good === 0) {
    const serving = pickServing(slots);
    if (serving.length > 0 || survey.draining.length + pending > 0) return serving;
  }
  const broken = pick(open.filter(isBroken), slots, survey, () => Number.POSITIVE_INFINITY);
  return [...broken, ...pickServing(slots - broken.length)];
}

function touchedNodes(changes: readonly Change[]): ReadonlyMap<string, number> {
  const touched = new Map<string, number>();
  for (const { pod, at } of changes) touched.set(pod.node, Math.max(at, touched.get(pod.node) ?? 0));
  return touched;
}
