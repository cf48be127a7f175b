import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { isCanary, percentFor, uidBound } from '../../../../src/injection/template/strategy.ts';

const uids = Array.from({ length: 2_000 }, () => randomUUID() as string);

describe('a share of all workloads', () => {
  test.each([
    [0, ''],
    [1, '028f5c29'],
    [25, '40000000'],
    [50, '80000000'],
    [100, 'g'],
  ])('of %i %% ends at %j', (percent, bound) => {
    expect(uidBound(percent)).toBe(bound);
  });

  test('has about its part of them, and all of a smaller share', () => {
    for (const percent of [0, 10, 50, 90, 100]) {
      const inside = uids.filter((uid) => isCanary({ namespaces: undefined, percent }, {}, uid));
      expect(Math.abs(inside.length / uids.length - percent / 100)).toBeLessThan(0.06);
      expect(inside.every((uid) => isCanary({ namespaces: undefined, percent: percent + 1 }, {}, uid))).toBe(
        true,
      );
    }
  });

  test('is the smallest that has a workload', () => {
    for (const uid of [
      ...uids,
      '00000000-',
      'ffffffff-ffff',
      '028f5c28-',
      '028f5c29-',
      '7fffffff-',
      '80000000-',
    ]) {
      const percent = percentFor(uid);
      expect(uid < uidBound(percent)).toBe(true);
      expect(uid < uidBound(percent - 1)).toBe(false);
    }
  });

  test('takes a pod without a controller only by its namespace', () => {
    const scope = { namespaces: { env: 'staging', team: 'a' }, percent: 100 };
    expect(isCanary(scope, {}, undefined)).toBe(false);
    expect(isCanary(scope, { env: 'staging' }, undefined)).toBe(false);
    expect(isCanary(scope, { env: 'staging', team: 'a', x: 'y' }, undefined)).toBe(true);
  });
});
