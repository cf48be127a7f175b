import { isDeepStrictEqual } from 'node:util';
import type { EventDetails } from '../../kube/events/events.ts';
import {
  CONDITION_TYPES,
  type ConditionType,
  type ConditionUpdates,
  conditionOf,
  conditionsOf,
} from '../api/conditions.ts';
import { recordedSubnet, sameSubnet, subnetChanges } from '../api/subnet.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import type { Usage } from '../providers.ts';
import { type ObservedState, type Outcome, targetOf, updatesOf } from './condition-plan.ts';

/** The status of the Network after an attempt to apply it; `now` is RFC 3339. */
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
    ...(outcome && nodesOf(observed.usage)),
    provider,
  };
}

/** The status while the deletion waits or fails. The fields of the real network stay. */
export function statusWith(
  network: Network,
  updates: Partial<ConditionUpdates>,
  usage: Usage | undefined,
  now: string,
): NetworkStatus {
  return { ...network.status, ...judged(network, updates, usage, now), ...nodesOf(usage) };
}

/** Whether the wanted status differs from the previous one. Ignores conditions of other writers. */
export function isChange(previous: NetworkStatus | undefined, wanted: NetworkStatus): boolean {
  const conditions = CONDITION_TYPES.flatMap((type) => conditionOf(previous?.conditions, type) ?? []);
  return !isDeepStrictEqual({ ...previous, conditions }, { ...wanted });
}

export function isRecount(previous: NetworkStatus | undefined, wanted: NetworkStatus): boolean {
  return isChange(previous, wanted) && !isChange(withoutCounts(previous), withoutCounts(wanted));
}

export function changesCounts(previous: NetworkStatus | undefined, wanted: NetworkStatus): boolean {
  if (previous?.attachedPods === undefined) return false;
  return (
    previous.attachedPods !== wanted.attachedPods ||
    previous.capacity?.allocated !== wanted.capacity?.allocated
  );
}

function nodesOf(usage: Usage | undefined): Pick<NetworkStatus, 'nodes'> {
  return usage?.nodes ? { nodes: usage.nodes.nodes } : {};
}

function withoutCounts(status: NetworkStatus | undefined): NetworkStatus {
  const { attachedPods, capacity, conditions = [], ...rest } = status ?? {};
  return {
    ...rest,
    ...(capacity?.total !== undefined && { capacity: { total: capacity.total } }),
    conditions: conditions
      .filter(({ type }) => type !== 'InUse')
      // Its message may name pods.
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
    // A failed attempt may have had an effect, so the previous fields stay until the next result.
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

/** The Events for an attempt that led from one status to the next: one for each change, none for a resync. */
export function eventsOf(
  before: Network,
  next: NetworkStatus,
  outcome: Outcome | undefined,
): readonly EventDetails[] {
  const changeOf = (type: ConditionType) => {
    const [was, is] = [before.status, next].map((status) => conditionOf(status?.conditions, type));
    return { was, is, isSame: was?.reason === is?.reason && was?.message === is?.message };
  };
  const { is: accepted, isSame } = changeOf('Accepted');
  const refusal: EventDetails[] =
    !accepted || isSame || accepted.reason === 'Accepted'
      ? []
      : [{ type: 'Warning', reason: accepted.reason, action: 'Validate', note: accepted.message }];
  const ready = changeOf('Ready');
  if (!ready.is || !outcome) return refusal;
  const { reason, message: note, status } = ready.is;
  const told = (details: Omit<EventDetails, 'note'>, prefix = '') => [
    ...refusal,
    { ...details, note: `${prefix}${note}` },
  ];
  if (outcome.kind !== 'ready') {
    return ready.isSame ? refusal : told({ type: 'Warning', reason, action: 'Reconcile' });
  }
  const [previous, subnet] = [recordedSubnet(before), recordedSubnet({ ...before, status: next })];
  if (!previous) return told({ type: 'Normal', reason: 'Created', action: 'Create' });
  if (subnet && !sameSubnet(previous, subnet)) {
    const prefix = `${subnetChanges(previous, subnet)}: `;
    return told({ type: 'Normal', reason: 'Updated', action: 'Update' }, prefix);
  }
  if (outcome.change === 'restored') {
    const details = { type: 'Warning', reason: 'Restored', action: 'Restore' } as const;
    return told(details, 'undid a change or deletion by another client: ');
  }
  if (ready.was?.status === status && ready.was.reason === reason) return refusal;
  return told({ type: 'Normal', reason, action: 'Reconcile' });
}
