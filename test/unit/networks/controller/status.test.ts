import { describe, expect, test } from '@jest/globals';
import { subnetOf } from '../../../../src/networks/api/subnet.ts';
import type { Network, NetworkStatus } from '../../../../src/networks/api/types.ts';
import type { ObservedState, Outcome } from '../../../../src/networks/controller/condition-plan.ts';
import { eventsOf } from '../../../../src/networks/controller/events.ts';
import { isChange, statusOf } from '../../../../src/networks/controller/status.ts';
import { type NetworkOptions, newNetwork } from '../networks.ts';

const now = '2026-01-01T00:00:00Z';
const created: Outcome = { kind: 'ready', change: 'created', capacity: 65_533 };
const none: Outcome = { ...created, change: 'none' };
const failed: Outcome = { kind: 'failed', message: 'boom' };
const conflict: Outcome = { kind: 'notReady', reason: 'NameConflict', message: 'it exists' };

function statusAfter(
  network: Network,
  outcome: Outcome | undefined,
  given: Partial<ObservedState> = {},
): NetworkStatus {
  const desired = subnetOf(network.spec);
  return statusOf(
    network,
    'multus',
    { desired, current: undefined, specError: undefined, usage: undefined, attachesPods: true, ...given },
    outcome,
    now,
  );
}

/** A Network that is Ready. */
function readyNetwork(options: NetworkOptions = {}): Network {
  const network = newNetwork(options);
  return { ...network, status: statusAfter(network, created) };
}

describe('the status', () => {
  test('has the subnet, capacity and provider of a real network', () => {
    expect(statusAfter(newNetwork({ mtu: 1400 }), created)).toMatchObject({
      observedGeneration: 1,
      cidr: '192.168.0.0/16',
      gateway: '192.168.0.1',
      mtu: 1400,
      provider: 'multus',
      capacity: { total: 65_533 },
    });
  });

  test('has pods and addresses only if they are counted', () => {
    const usage = { pods: ['default/a', 'default/b'], allocated: 2 };
    const counted = statusAfter(newNetwork(), created, { usage });
    expect(counted).toMatchObject({ attachedPods: 2, capacity: { total: 65_533, allocated: 2 } });
    expect(statusAfter(newNetwork(), created)).not.toHaveProperty('attachedPods');
  });

  test('keeps the fields of the network after a failure', () => {
    const network = readyNetwork();
    const { conditions, ...known } = statusAfter(network, none);
    expect(statusAfter(network, failed)).toMatchObject(known);
  });

  test('keeps the fields while the provider is not available, and drops them if no network exists', () => {
    const network = readyNetwork();
    const outcome: Outcome = { kind: 'notReady', reason: 'ProviderUnavailable', message: 'down' };
    expect(statusAfter(network, { ...outcome, keepsKnown: true })).toHaveProperty('cidr', '192.168.0.0/16');
    expect(statusAfter(network, outcome)).not.toHaveProperty('cidr');
  });

  test('has no fields of a network that does not exist', () => {
    const status = statusAfter(readyNetwork(), conflict);
    expect(status).not.toHaveProperty('cidr');
    expect(status).not.toHaveProperty('capacity');
  });
});

describe('isChange', () => {
  test('is false if nothing changed', () => {
    const network = readyNetwork();
    expect(isChange(network.status, statusAfter(network, none))).toBe(false);
  });

  test('is false for a condition of another writer', () => {
    const network = readyNetwork();
    const foreign = {
      type: 'example.org/Audited',
      status: 'True',
      reason: 'Yes',
      message: '',
      lastTransitionTime: now,
    };
    const conditions = [foreign, ...(network.status?.conditions ?? [])] as const;
    expect(isChange({ ...network.status, conditions } as NetworkStatus, statusAfter(network, none))).toBe(
      false,
    );
  });

  test('is false while the same failure continues', () => {
    const network = { ...newNetwork(), status: statusAfter(newNetwork(), failed) };
    expect(isChange(network.status, statusAfter(network, failed))).toBe(false);
  });

  test('is true after an edit by another client', () => {
    const network = readyNetwork();
    const edited = { ...network.status, cidr: '10.0.0.0/8' };
    expect(isChange(edited, statusAfter({ ...network, status: edited }, none))).toBe(true);
  });

  test('is true for a first status and for a new generation', () => {
    const network = readyNetwork();
    expect(isChange(undefined, statusAfter(network, none))).toBe(true);
    const edited = { ...network, metadata: { ...network.metadata, generation: 2 } };
    expect(isChange(edited.status, statusAfter(edited, none))).toBe(true);
  });
});

describe('Events', () => {
  const reasons = (before: Network, outcome: Outcome | undefined, given: Partial<ObservedState> = {}) =>
    eventsOf(before, statusAfter(before, outcome, given), outcome).map(
      ({ type, reason }) => `${type} ${reason}`,
    );
  const overlap = { reason: 'Overlap', message: 'with a' } as const;

  test('report a creation, and nothing at the next resync', () => {
    expect(reasons(newNetwork(), created)).toEqual(['Normal Created']);
    expect(reasons(readyNetwork(), none)).toEqual([]);
  });

  test('report what an update changed', () => {
    const network = readyNetwork();
    const edited = { ...network, spec: { ...network.spec, gateway: '192.168.0.254', mtu: 1400 } };
    const [notice] = eventsOf(edited, statusAfter(edited, none), none);
    expect(notice).toMatchObject({ type: 'Normal', reason: 'Updated' });
    expect(notice?.note).toContain('gateway 192.168.0.1 to 192.168.0.254, mtu unset to 1400');
  });

  test('warn about a restored network', () => {
    expect(reasons(readyNetwork(), { ...created, change: 'restored' })).toEqual(['Warning Restored']);
  });

  test('warn once about a failure, and again about another one', () => {
    const network = { ...newNetwork(), status: statusAfter(newNetwork(), failed) };
    expect(reasons(newNetwork(), failed)).toEqual(['Warning ReconcileFailed']);
    expect(reasons(network, failed)).toEqual([]);
    expect(reasons(network, { kind: 'failed', message: 'bang' })).toEqual(['Warning ReconcileFailed']);
  });

  test('report the recovery from a failure', () => {
    const network = readyNetwork();
    const failing = { ...network, status: statusAfter(network, failed) };
    expect(reasons(failing, none)).toEqual(['Normal Ready']);
  });

  test('report once that pods cannot attach to the network', () => {
    const given = { attachesPods: false };
    const network = newNetwork();
    expect(reasons(network, created, given)).toEqual(['Normal Created']);
    expect(reasons({ ...network, status: statusAfter(network, created, given) }, none, given)).toEqual([]);
  });

  test('warn once about an overlap, and again about one with another Network', () => {
    const network = newNetwork();
    const refused = { ...network, status: statusAfter(network, undefined, { specError: overlap }) };
    expect(reasons(network, undefined, { specError: overlap })).toEqual(['Warning Overlap']);
    expect(reasons(refused, undefined, { specError: overlap })).toEqual([]);
    const another = { specError: { ...overlap, message: 'with b' } };
    expect(reasons(refused, undefined, another)).toEqual(['Warning Overlap']);
  });

  test('report once a change that waits for pods', () => {
    const network = readyNetwork();
    const current = subnetOf(network.spec);
    const edited = { ...network, spec: { ...network.spec, cidr: '10.0.0.0/16', gateway: '10.0.0.1' } };
    const given = { current, usage: { pods: ['default/a'] } };
    expect(reasons(edited, none, given)).toEqual(['Normal ChangePending']);
    const waiting = { ...edited, status: statusAfter(edited, none, given) };
    expect(reasons(waiting, none, given)).toEqual([]);
  });
});
