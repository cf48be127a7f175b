import { expect, test } from '@jest/globals';
import type { NetworkStatus } from '../../../../src/networks/api/types.ts';
import { CountPace } from '../../../../src/networks/controller/network-writer.ts';
import { isRecount } from '../../../../src/networks/controller/status.ts';

test('CountPace allows a write of counts every 10 s', () => {
  let now = 1_000;
  const throttle = new CountPace({ now: () => now });
  expect(throttle.waitMs('a')).toBe(0);
  throttle.written('a');
  now += 4_000;
  expect(throttle.waitMs('a')).toBe(6_000);
  expect(throttle.waitMs('b')).toBe(0);
  throttle.written('b');
  now += 6_000;
  expect([throttle.waitMs('a'), throttle.waitMs('b')]).toEqual([0, 4_000]);
});

const condition = (type: string, status: 'True' | 'False', reason: string, message = '') => ({
  ...{ type, status, reason, message },
  lastTransitionTime: '2026-11-21T00:00:00Z',
});
const status: NetworkStatus = {
  cidr: '10.0.0.0/24',
  attachedPods: 1,
  capacity: { total: 253, allocated: 1 },
  conditions: [
    condition('Ready', 'True', 'Ready'),
    condition('Progressing', 'False', 'UpToDate'),
    condition('InUse', 'True', 'PodsAttached', 'attached: red/p'),
  ],
};

test.each<[string, boolean, NetworkStatus]>([
  ['nothing new', false, status],
  ['another count', true, { ...status, attachedPods: 2, capacity: { total: 253, allocated: 2 } }],
  [
    'no users any more',
    true,
    {
      ...status,
      attachedPods: 0,
      conditions: status.conditions?.map((c) =>
        c.type === 'InUse' ? condition('InUse', 'False', 'NoPods') : c,
      ),
    } as NetworkStatus,
  ],
  ['another range and another count', false, { ...status, cidr: '10.0.1.0/24', attachedPods: 2 }],
  [
    'that it is not Ready any more',
    false,
    { ...status, attachedPods: 2, conditions: [condition('Ready', 'False', 'Deleting')] },
  ],
])('a status with %s: isRecount returns %s', (_, only, next) => {
  expect(isRecount(status, next)).toBe(only);
});
