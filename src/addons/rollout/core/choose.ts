import type { PodShare } from '../../../injection/template/strategy.ts';
import type { Change, Health } from './health.ts';
import { type Candidate, pick } from './order.ts';
import type { Survey } from './survey.ts';
import { freeIn, type Workload } from './workloads.ts';

export interface Limits {
  /** Pods that may start. */
  readonly slots: number;
  readonly maxUnavailable: PodShare;
}

const UNLIMITED = () => Number.POSITIVE_INFINITY;
const isBroken = ({ pod }: Candidate) => pod.ready === false;
/** Whether it serves, as far as is known. */
export const isServing = ({ pod }: Candidate) => pod.ready !== false;

/**
 * The candidates that start now. Pods that do not serve come first, and take nothing from their workload. But they
 * prove little, so that the first proof comes from others, unless none of them can start: broken pods may use up what
 * their workload can spare.
 */
export function choose(
  open: readonly Candidate[],
  { changes, draining, recentIn }: Survey,
  { good, pending }: Health,
  { slots, maxUnavailable }: Limits,
): readonly Candidate[] {
  const how = { touched: touchedNodes(changes), recentIn };
  const free = (workload: Workload) => freeIn(workload, maxUnavailable);
  const pickServing = (most: number) => pick(open.filter(isServing), { slots: most, free, ...how });
  if (good === 0) {
    const serving = pickServing(slots);
    if (serving.length > 0 || draining.length + pending > 0) return serving;
  }
  const broken = pick(open.filter(isBroken), { slots, free: UNLIMITED, ...how });
  return [...broken, ...pickServing(slots - broken.length)];
}

/** The candidates that go back now: all that do not serve, at once. */
export function chooseBack(
  open: readonly Candidate[],
  { changes, recentIn }: Survey,
  { slots, maxUnavailable }: Limits,
): readonly Candidate[] {
  const free = (workload: Workload) => freeIn(workload, maxUnavailable);
  const how = { touched: touchedNodes(changes), recentIn };
  const serving = pick(open.filter(isServing), { slots, free, ...how });
  return [...open.filter(isBroken), ...serving];
}

function touchedNodes(changes: readonly Change[]): ReadonlyMap<string, number> {
  const touched = new Map<string, number>();
  for (const { pod, at } of changes) touched.set(pod.node, Math.max(at, touched.get(pod.node) ?? 0));
  return touched;
}
