import { describe, expect, test } from '@jest/globals';

import { LEASES, recordOf, specOf } from '../../../../src/kube/leaderelection/lease-record.ts';

describe('the record of a Lease', () => {
  test('is unchanged after a conversion from a spec and back', () => {
    const spec = {
      holderIdentity: 'foo',
      leaseDurationSeconds: 10,
      acquireTime: '2026-01-02T03:04:05.678901Z',
      renewTime: '2026-01-02T03:04:06.000000Z',
      leaseTransitions: 1,
    };

    expect(specOf(recordOf({ spec }))).toEqual(spec);
    expect(recordOf({ spec: specOf(recordOf({ spec })) })).toEqual(recordOf({ spec }));
  });

  test('of a Lease without a spec has no holder', () => {
    expect(recordOf({})).toMatchObject({ holder: '', durationSeconds: 0, transitions: 0 });
  });

  test('omits unknown fields from the spec', () => {
    expect(specOf(recordOf({}))).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: 0,
      leaseTransitions: 0,
    });
  });

  test('is not read from a value that is not an object of the API', () => {
    expect(() => LEASES.decode({ kind: 'Status' })).toThrow(TypeError);
  });
});
