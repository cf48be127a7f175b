import { expect, test } from '@jest/globals';
import type { Network } from '../../../../src/networks/api/types.ts';
import { networkState } from '../../../../src/networks/pods/network-state.ts';

const condition = (status: 'True' | 'False', reason: string, message: string) => ({
  conditions: [{ type: 'Ready', status, reason, message, lastTransitionTime: '2026-11-21T00:00:00Z' }],
});

function network(status?: Network['status'], deletionTimestamp?: string): Network {
  return {
    metadata: { name: 'blue', namespace: 'red', ...(deletionTimestamp && { deletionTimestamp }) },
    spec: { cidr: '10.0.0.0/24', gateway: '10.0.0.1' },
    ...(status && { status }),
  };
}

const ready = condition('True', 'Ready', 'pods can attach');

function state(of: Network | undefined, attachesPods = true) {
  return networkState('red/blue', of, {
    of: () => ({ name: 'neutron', attachesPods }),
    attaching: () => ['multus'],
  });
}

test('networkState is ready for a Ready Network, also with a pending change', () => {
  expect(state(network(ready))).toEqual({ kind: 'ready' });
  expect(state(network(condition('True', 'ChangePending', '')))).toEqual({ kind: 'ready' });
});

test.each([
  ['a missing Network', undefined, 'Network red/blue does not exist'],
  ['a new Network', network(), 'Network red/blue is not Ready yet'],
  [
    'a Network that is not Ready',
    network(condition('False', 'Overlap', '10.0.0.0/24 overlaps another')),
    'Network red/blue is not Ready (Overlap: 10.0.0.0/24 overlaps another)',
  ],
  [
    'a Network that is being deleted',
    network(ready, '2026-11-21T00:00:00Z'),
    'Network red/blue is being deleted',
  ],
])('networkState is waiting for %s, and says why', (_, of, why) => {
  expect(state(of)).toEqual({ kind: 'waiting', why });
});

test('networkState is unattachable for a provider that does not attach pods', () => {
  expect(state(network(ready), false)).toEqual({
    kind: 'unattachable',
    why: expect.stringContaining('ProviderCannotAttach: Network red/blue is of provider neutron'),
  });
});
