import { expect, test } from '@jest/globals';
import { decideGate } from '../../../../src/networks/pods/gate-decision.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import type { NetworkState } from '../../../../src/networks/pods/network-state.ts';

const states: Readonly<Record<string, NetworkState>> = {
  'red/late': { kind: 'waiting', why: 'Network red/late does not exist' },
  'red/later': { kind: 'waiting', why: 'Network red/later is not Ready yet' },
  'red/made': { kind: 'ready', subnet: { cidr: '10.0.0.0/24', gateway: '10.0.0.1' } },
  'red/never': { kind: 'unattachable', why: 'ProviderCannotAttach: Network red/never' },
};

function decision(asked: string | undefined, multus = asked) {
  const stateOf = (key: string) => states[key] ?? ({ kind: 'ready' } as const);
  return decideGate({ asked, multus, namespace: 'red' }, { access: new NetworkAccess([]), stateOf });
}

test.each([
  ['whose Networks are all Ready', 'blue,green', ['red/blue', 'red/green']],
  ['that names no Network any more', undefined, []],
])('decideGate removes the gate of a pod %s', (_, asked, networks) => {
  expect(decision(asked)).toEqual({ kind: 'lift', networks });
});

test.each([
  [
    'names Networks that are not Ready',
    'late,blue,later',
    undefined,
    'WaitsForNetwork',
    'Network red/late does not exist; Network red/later is not Ready yet',
  ],
  [
    'names a Network of a provider that does not attach pods',
    'late,never',
    undefined,
    'ProviderCannotAttach',
    'Network red/never',
  ],
  ['has an invalid annotation', 'blue,', undefined, 'InvalidNetworkAnnotation', 'has ""'],
  ['names another namespace', 'green/blue', undefined, 'InvalidNetworkAnnotation', 'may not use'],
  [
    'names a Network that the annotation of Multus does not name',
    'blue',
    'late',
    'InvalidNetworkAnnotation',
    'changed after the creation',
  ],
  [
    'asks for what its Network does not have, as was known after its creation',
    '[{"name":"made","ips":["10.0.0.7/32"]}]',
    undefined,
    'InvalidNetworkAnnotation',
    'has another prefix length than its range, /24: write another address, or none, and recreate the pod',
  ],
  ['has an invalid annotation of Multus', 'blue', '[', 'InvalidNetworkAnnotation', 'is not a JSON list'],
])('decideGate keeps the gate of a pod that %s', (_, asked, multus, reason, why) => {
  expect(decision(asked, multus ?? asked)).toMatchObject({
    kind: 'wait',
    reason,
    why: expect.stringContaining(why),
  });
});
