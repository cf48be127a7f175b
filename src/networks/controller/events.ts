import type { EventDetails } from '../../kube/events/events.ts';
import { conditionOf } from '../api/conditions.ts';
import { recordedSubnet, sameSubnet, subnetChanges } from '../api/subnet.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import type { Outcome } from './condition-plan.ts';

/** The Events for an attempt that led from one status to the next: one for each change, none for a resync. */
export function eventsOf(
  before: Network,
  next: NetworkStatus,
  outcome: Outcome | undefined,
): readonly EventDetails[] {
  return [...refusals(before, next), ...readiness(before, next, outcome)];
}

function refusals({ status }: Network, next: NetworkStatus): readonly EventDetails[] {
  const was = conditionOf(status?.conditions, 'Accepted');
  const is = conditionOf(next.conditions, 'Accepted');
  if (!is || is.reason === 'Accepted' || (was?.reason === is.reason && was.message === is.message)) return [];
  return [{ type: 'Warning', reason: is.reason, action: 'Validate', note: is.message }];
}

function readiness(
  before: Network,
  next: NetworkStatus,
  outcome: Outcome | undefined,
): readonly EventDetails[] {
  const was = conditionOf(before.status?.conditions, 'Ready');
  const is = conditionOf(next.conditions, 'Ready');
  if (!is || !outcome) return [];
  if (outcome.kind !== 'ready') {
    if (was?.reason === is.reason && was.message === is.message) return [];
    return [{ type: 'Warning', reason: is.reason, action: 'Reconcile', note: is.message }];
  }
  const note = is.message;
  const subnet = recordedSubnet({ ...before, status: next });
  const recorded = recordedSubnet(before);
  // Earlier releases did not record a default MTU.
  const isDefault = before.spec.mtu === undefined && subnet?.mtu !== undefined;
  const previous = recorded && { ...(isDefault && { mtu: subnet.mtu }), ...recorded };
  if (!previous) return [{ type: 'Normal', reason: 'Created', action: 'Create', note }];
  if (subnet && !sameSubnet(previous, subnet)) {
    return [
      {
        type: 'Normal',
        reason: 'Updated',
        action: 'Update',
        note: `${subnetChanges(previous, subnet)}: ${note}`,
      },
    ];
  }
  if (outcome.change === 'restored') {
    const what = 'another client had changed or deleted it';
    return [{ type: 'Warning', reason: 'Restored', action: 'Restore', note: `${what}: ${note}` }];
  }
  if (was?.status === is.status && was.reason === is.reason) return [];
  return [{ type: 'Normal', reason: is.reason, action: 'Reconcile', note }];
}
