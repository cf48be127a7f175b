import type { CanaryScope, Strategy } from '../../../injection/template/strategy.ts';
import { percentFor } from '../../../injection/template/strategy.ts';
import type { Candidate } from './order.ts';

/**
 * The canary of a rollout. A percentage is made large enough for one workload that can prove something. Without a
 * canary in the strategy it is the smallest percentage with as many pods as the breaker looks at.
 */
export function canaryScope(candidates: readonly Candidate[], strategy: Strategy): CanaryScope {
  const owned = candidates.filter(({ pod }) => pod.owner !== undefined);
  const { canary, breaker } = strategy;
  if (canary === undefined) return { namespaces: undefined, percent: percentWith(owned, breaker.of) };
  if (canary.percent === 0) return { namespaces: canary.namespaces, percent: 0 };
  return { namespaces: canary.namespaces, percent: Math.max(canary.percent, percentWith(owned, 1)) };
}

/** The smallest percentage of workloads that has this many of the pods, or all of them. */
function percentWith(candidates: readonly Candidate[], count: number): number {
  const uids = candidates.map(({ pod }) => pod.owner?.uid ?? '').toSorted();
  const last = uids[Math.min(count, uids.length) - 1];
  return last === undefined ? 0 : percentFor(last);
}
