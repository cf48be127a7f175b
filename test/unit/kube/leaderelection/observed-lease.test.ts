import { describe, expect, test } from '@jest/globals';

import { ObservedLease } from '../../../../src/kube/leaderelection/observed-lease.ts';

const record = {
  holder: 'other',
  durationSeconds: 15,
  renewTime: '2026-01-01T00:00:00.000000Z',
  transitions: 0,
};

describe('an observed lease', () => {
  test('expires when it was seen unchanged for its duration, whatever its renewTime is', () => {
    const lease = new ObservedLease();
    lease.observe({ ...record, renewTime: '1999-01-01T00:00:00.000000Z' }, 1_000);
    lease.observe({ ...record, renewTime: '1999-01-01T00:00:00.000000Z' }, 9_000);

    expect(lease.hasExpired(15_999)).toBe(false);
    expect(lease.hasExpired(16_000)).toBe(true);
  });

  test('expires despite times in the future', () => {
    const lease = new ObservedLease();
    lease.observe({ ...record, renewTime: '2999-01-01T00:00:00.000000Z' }, 0);

    expect(lease.hasExpired(15_000)).toBe(true);
  });

  test('restarts its duration when it is renewed', () => {
    const lease = new ObservedLease();
    lease.observe(record, 0);
    lease.observe({ ...record, renewTime: '2026-01-01T00:00:02.000000Z' }, 2_000);

    expect(lease.hasExpired(16_999)).toBe(false);
    expect(lease.hasExpired(17_000)).toBe(true);
  });

  test('uses the duration of its holder, not of its observer', () => {
    const lease = new ObservedLease();
    lease.observe({ ...record, durationSeconds: 3 }, 0);

    expect(lease.hasExpired(3_000)).toBe(true);
  });
});
