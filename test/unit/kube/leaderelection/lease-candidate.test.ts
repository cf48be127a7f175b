import { expect, test } from '@jest/globals';

import { TransportError } from '../../../../src/kube/api/api-error.ts';
import { LeaseCandidate, type LeaseSpec } from '../../../../src/kube/leaderelection/lease.ts';
import { FakeLeases } from '../../../support/kube/fake-leases.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const signal = new AbortController().signal;

function setUp(spec?: LeaseSpec) {
  const leases = new FakeLeases(spec);
  const clock = new FakeClock();
  const wallClock = () => new Date(Date.UTC(2026, 0, 1) + clock.now());
  const candidate = new LeaseCandidate({
    client: leases.client(),
    lease: { namespace: 'system', name: 'operator' },
    clock,
    wallClock,
    identity: 'me',
    durationSeconds: 15,
  });
  const tryAcquire = async () => {
    const holder = await candidate.look(signal);
    if (holder === '') await candidate.take(signal);
    return holder;
  };
  return { leases, clock, candidate, tryAcquire };
}

// client-go: TestTryAcquireOrRenewLeases.

test.each([
  ['with no spec', {}],
  ['that never had a holder', { holderIdentity: '', leaseTransitions: 0 }],
  ['that was released', { holderIdentity: '', leaseDurationSeconds: 15 }],
  ['whose holder states no duration', { holderIdentity: 'other' }],
])('a candidate takes over a Lease %s at once, and counts a transition', async (_, spec) => {
  const { leases, tryAcquire } = setUp(spec);

  await tryAcquire();

  expect(leases.operations).toEqual(['get', 'update']);
  expect(leases.spec).toMatchObject({ holderIdentity: 'me', leaseTransitions: 1 });
});

test.each([
  ['the past', '1999-01-01T00:00:00.000000Z'],
  ['the future', '2999-01-01T00:00:00.000000Z'],
])(
  "a candidate takes over another's Lease only when it is unchanged for its duration, with a time in %s",
  async (_, renewTime) => {
    const { leases, clock, candidate, tryAcquire } = setUp({
      holderIdentity: 'other',
      leaseDurationSeconds: 3,
      renewTime,
    });

    expect(await tryAcquire()).toBe('other');
    clock.advance(2_999);
    expect(await tryAcquire()).toBe('other');
    expect(candidate.renewedAt).toBeUndefined();
    clock.advance(1);
    expect(await tryAcquire()).toBe('');

    expect(leases.operations).toEqual(['get', 'get', 'get', 'update']);
    expect(leases.spec).toMatchObject({ holderIdentity: 'me', leaseTransitions: 1 });
  },
);

// client-go: TestFastPathLeaderElection.

test('a candidate goes on renewing after a renewal that was written but whose answer was lost', async () => {
  const { leases, clock, candidate, tryAcquire } = setUp();
  await tryAcquire();
  const lost = () => Promise.reject(new TransportError('cut', 'ECONNRESET', undefined));
  leases.fault = (_, number) => (number === 3 ? { after: lost } : undefined);
  clock.advance(2_000);

  await candidate.renew(signal);

  expect(leases.operations).toEqual(['get', 'create', 'update', 'get', 'update']);
  expect(candidate.renewedAt).toBe(2_000);
});

test('a candidate counts a renewal from the moment of the request, not of the answer', async () => {
  const { leases, clock, candidate, tryAcquire } = setUp();
  await tryAcquire();
  clock.advance(2_000);
  leases.fault = () => ({ after: () => clock.advance(5_000) });

  await candidate.renew(signal);

  expect(candidate.renewedAt).toBe(2_000);
});

test("a candidate never writes over another's Lease", async () => {
  const { leases, candidate, tryAcquire } = setUp();
  await tryAcquire();
  leases.set({ holderIdentity: 'other', leaseTransitions: 1 });

  await candidate.renew(signal);

  expect(candidate.renewedAt).toBeUndefined();
  expect(candidate.holder).toBe('other');
  expect(leases.spec).toEqual({ holderIdentity: 'other', leaseTransitions: 1 });
});

// client-go: TestReleaseLeaseLeases, TestReleaseMethodCallsGet, TestReleaseRetriesOnConflict.

test('a candidate tries the release again when its own renewal is written meanwhile', async () => {
  const { leases, candidate, tryAcquire } = setUp();
  await tryAcquire();
  leases.fault = (operation, number) =>
    operation === 'update' && number === 4 ? { before: () => leases.set(leases.spec) } : undefined;

  await candidate.release(signal);

  expect(leases.operations).toEqual(['get', 'create', 'get', 'update', 'get', 'update']);
  expect(leases.spec).toMatchObject({ holderIdentity: '' });
});
