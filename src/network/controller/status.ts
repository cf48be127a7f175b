import { isDeepStrictEqual } from 'node:util';
import { CONDITION_TYPES, type ConditionUpdates, conditionOf, conditionsOf } from '../api/conditions.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import type { Usage } from '../providers/provider.ts';
import { type ObservedState, type Outcome, targetOf, updatesOf } from './condition-plan.ts';

/** What the status of the Network is to be after an attempt to make it real; `now` is RFC 3339. */
export function statusOf(
  network: Network,
  provider: string,
  observed: ObservedState,
  outcome: Outcome | undefined,
  now: string,
): NetworkStatus {
  return {
    ...judged(network, updatesOf(observed, outcome), observed.usage, now),
    ...realised(network, observed, outcome),
    provider,
  };
}

/** The status while its deletion waits or fails: what is known of the real network stays. */
export function statusWith(
  network: Network,
  updates: Partial<ConditionUpdates>,
  usage: Usage | undefined,
  now: string,
): NetworkStatus {
  return { ...network.status, ...judged(network, updates, usage, now) };
}

/** Whether it says anything else than what is there. Conditions of other writers do not count. */
export function isChange(previous: NetworkStatus | undefined, wanted: NetworkStatus): boolean {
  const conditions = CONDITION_TYPES.flatMap((type) => conditionOf(previous?.conditions, type) ?? []);
  return !isDeepStrictEqual({ ...previous, conditions }, { ...wanted });
}

/** Whether it counts its pods otherwise than what is there, and that says nothing else that is new. */
export function isRecount(previous: NetworkStatus | undefined, wanted: NetworkStatus): boolean {
  return isChange(previous, wanted) && !isChange(withoutCounts(previous), withoutCounts(wanted));
}

/** Whether it counts its pods, and not for the first time, otherwise than what is there. */
export function changesCounts(previous: NetworkStatus | undefined, wanted: NetworkStatus): boolean {
  if (previous?.attachedPods === undefined) return false;
  return (
    previous.attachedPods !== wanted.attachedPods ||
    previous.capacity?.allocated !== wanted.capacity?.allocated
  );
}

function withoutCounts(status: NetworkStatus | undefined): NetworkStatus {
  const { attachedPods, capacity, conditions = [], ...rest } = status ?? {};
  return {
    ...rest,
    ...(capacity?.total !== undefined && { capacity: { total: capacity.total } }),
    conditions: conditions
      .filter(({ type }) => type !== 'InUse')
      // It may name the pods that are waited for.
      .map((condition) => (condition.type === 'Progressing' ? { ...condition, message: '' } : condition)),
  };
}

function judged(
  { metadata: { generation }, status }: Network,
  updates: Partial<ConditionUpdates>,
  usage: Usage | undefined,
  now: string,
): NetworkStatus {
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: conditionsOf(updates, status?.conditions, { generation, now }),
    ...(usage && { attachedPods: usage.pods.length }),
  };
}

function realised({ status }: Network, observed: ObservedState, outcome: Outcome | undefined): NetworkStatus {
  if (outcome?.kind === 'failed' || (outcome?.kind === 'notReady' && outcome.keepsKnown)) {
    // A failed attempt may have come to pass or not: what was known stays until that is clear.
    const { conditions, observedGeneration, attachedPods, provider, ...known } = status ?? {};
    return known;
  }
  if (outcome?.kind !== 'ready') return {};
  const allocated = observed.usage?.allocated;
  return {
    ...targetOf(observed),
    ...(outcome.externalID !== undefined && { externalID: outcome.externalID }),
    ...(outcome.vni !== undefined && { vni: outcome.vni }),
    capacity: { total: outcome.capacity, ...(allocated !== undefined && { allocated }) },
  };
}
