import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import {
  LeaderElector,
  type LeaderElectorOptions,
} from '../../../../src/kube/leaderelection/leader-elector.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeLeases, hang, unreachable } from '../../../support/kube/fake-leases.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

function optionsOf(leases: FakeLeases, clock: FakeClock): LeaderElectorOptions {
  return {
    enabled: true,
    client: leases.client(),
    clock,
    wallClock: () => new Date(Date.UTC(2026, 0, 1) + clock.now()),
    random: () => 0,
    lease: { namespace: 'system', name: 'operator' },
    identity: 'me',
    log: pino({ enabled: false }),
  };
}

/** Work that ends, after its signal has aborted, when the test says so. */
class Work {
  /** The signal of each term. */
  readonly terms: AbortSignal[] = [];
  #end = Promise.withResolvers<void>();

  get started(): boolean {
    return this.terms.length > 0;
  }

  get signal(): AbortSignal | undefined {
    return this.terms.at(-1);
  }

  readonly lead = (leading: AbortSignal): Promise<void> => {
    this.terms.push(leading);
    this.#end = Promise.withResolvers<void>();
    return this.#end.promise;
  };

  end(): void {
    this.#end.resolve();
  }

  fail(error: Error): void {
    this.#end.reject(error);
  }
}

interface Candidate {
  readonly elector: LeaderElector;
  readonly work: Work;
  readonly stop: () => void;
  /** The outcome of `run`: undefined while it runs, `ended`, or its error. */
  outcome(): unknown;
}

function start(options: LeaderElectorOptions): Candidate {
  const elector = new LeaderElector(options);
  const work = new Work();
  const stop = new AbortController();
  let outcome: unknown;
  elector.run(stop.signal, work.lead).then(
    () => {
      outcome = 'ended';
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  return { elector, work, stop: () => stop.abort(), outcome: () => outcome };
}

async function startLeader(extra: Partial<LeaderElectorOptions> = {}) {
  const leases = new FakeLeases();
  const clock = new FakeClock();
  const leader = start({ ...optionsOf(leases, clock), ...extra });
  await clock.advanceAsync(0);
  expect(leader.work.started).toBe(true);
  return { leases, clock, ...leader };
}

test('a candidate for leadership does not work while another process leads, and logs the leader once', async () => {
  const leases = new FakeLeases({ holderIdentity: 'other', leaseDurationSeconds: 15 });
  const clock = new FakeClock();
  const { log, lines } = capturedLog();
  const standby = start({ ...optionsOf(leases, clock), log });

  await clock.advanceAsync(14_000);

  expect(standby.work.started).toBe(false);
  expect(standby.elector.isLeader()).toBe(false);
  expect(lines).toMatchObject([{ msg: 'waiting for the lease', leader: 'other', lease: 'system/operator' }]);
});

test('a candidate for leadership releases at once a lease that it got during its stop', async () => {
  const leases = new FakeLeases();
  const clock = new FakeClock();
  const answered = Promise.withResolvers<void>();
  leases.fault = (operation) => (operation === 'create' ? { after: () => answered.promise } : undefined);
  const candidate = start(optionsOf(leases, clock));
  await clock.advanceAsync(0);

  candidate.stop();
  answered.resolve();
  await clock.advanceAsync(0);

  expect(candidate.outcome()).toBe('ended');
  expect(candidate.work.started).toBe(false);
  expect(leases.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
});

test('a leader stops leading when its event loop was blocked for the renew deadline', async () => {
  const { clock, elector } = await startLeader();
  await clock.advanceAsync(1_000);

  // Time passes and timers are due, but no continuation runs.
  clock.advance(8_999);
  expect(elector.isLeader()).toBe(true);
  clock.advance(1);

  expect(elector.isLeader()).toBe(false);
});

// client-go: TestReleaseOnCancellation_Leases.

test('a leader that stops renews the lease until the work has drained, and then releases it', async () => {
  const { leases, clock, elector, work, stop, outcome } = await startLeader();

  stop();
  await clock.advanceAsync(60_000);
  expect(work.signal?.aborted).toBe(true);
  expect(elector.isLeader()).toBe(true);
  expect(leases.spec).toMatchObject({ holderIdentity: 'me', renewTime: '2026-01-01T00:01:00.000000Z' });
  expect(outcome()).toBeUndefined();

  work.end();
  await clock.advanceAsync(0);
  expect(outcome()).toBe('ended');
  expect(elector.isLeader()).toBe(false);
  expect(leases.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  expect(clock.pendingTimers).toBe(0);
});

test.each(['update', 'get'] as const)(
  'a leader that stops releases the lease during the %s of a renewal',
  async (slow) => {
    const { leases, clock, work, stop, outcome } = await startLeader();
    const number = slow === 'update' ? 3 : 4;
    leases.fault = (operation, n) => {
      if (n > number) return undefined;
      return { before: operation === slow ? hang : unreachable };
    };
    await clock.advanceAsync(2_000);
    expect(leases.operations).toHaveLength(number);

    stop();
    work.end();
    await clock.advanceAsync(0);

    expect(outcome()).toBe('ended');
    expect(leases.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  },
);

test('work of a leader that ends with an error before a stop releases the lease and rejects', async () => {
  const { leases, clock, work, outcome } = await startLeader();
  const error = new Error('no such CRD');

  work.fail(error);
  await clock.advanceAsync(0);

  expect(outcome()).toBe(error);
  expect(leases.spec.holderIdentity).toBe('');
});

test('a leader loses the lease at the renew deadline, however many renewals failed, and the work ends', async () => {
  const { leases, clock, elector, work, stop, outcome } = await startLeader();
  leases.fault = () => ({ before: unreachable });

  await clock.advanceAsync(9_999);
  expect(elector.isLeader()).toBe(true);
  expect(work.signal?.aborted).toBe(false);
  await clock.advanceAsync(1);
  expect(elector.isLeader()).toBe(false);
  expect(work.signal?.aborted).toBe(true);

  work.end();
  await clock.advanceAsync(0);
  expect(outcome()).toBeUndefined();
  stop();
  await clock.advanceAsync(0);
  expect(outcome()).toBe('ended');
  expect(clock.pendingTimers).toBe(0);
});

test('a leader does not lose the lease by one unanswered renewal: the next follows after half the deadline', async () => {
  const { leases, clock, elector, work } = await startLeader();
  leases.fault = (_, number) => (number === 3 ? { before: hang } : undefined);

  await clock.advanceAsync(6_999);
  expect(leases.operations).toHaveLength(3);
  await clock.advanceAsync(1);
  expect(leases.operations).toHaveLength(4);
  await clock.advanceAsync(60_000);

  expect(work.signal?.aborted).toBe(false);
  expect(elector.isLeader()).toBe(true);
});

test('a leader loses the lease at once when another process holds it, without a write', async () => {
  const { leases, clock, elector, work } = await startLeader();
  leases.set({ holderIdentity: 'other', leaseDurationSeconds: 15, leaseTransitions: 1 });

  await clock.advanceAsync(2_000);

  expect(work.signal?.aborted).toBe(true);
  expect(elector.isLeader()).toBe(false);
  work.end();
  await clock.advanceAsync(0);
  expect(work.terms).toHaveLength(1);
  expect(leases.spec).toEqual({ holderIdentity: 'other', leaseDurationSeconds: 15, leaseTransitions: 1 });
});

test.each([
  ['is fine while the lease is held', 9_999, undefined],
  ['is fine for a minute after the lease was lost', 70_000, undefined],
  [
    'is bad when the work of a lost term still runs after a minute',
    70_001,
    "lost the lease system/operator, but the leader's work has not ended",
  ],
])('the health of a leader %s', async (_, afterMs, expected) => {
  const { leases, clock, elector } = await startLeader();
  leases.fault = () => ({ before: unreachable });

  await clock.advanceAsync(afterMs);

  expect(elector.healthProblem()).toEqual(expected);
});

test('a request of the leader is refused without a signal, which belongs to no term', async () => {
  const { elector } = await startLeader();
  expect(() => elector.assertLeading(undefined)).toThrow(
    'expected a request of the leader to carry the signal of its term, got none',
  );
});

test('a request of the leader is refused after the renew deadline, also when no timer could say so', async () => {
  const { clock, elector, work } = await startLeader();
  // Time passes and no timer fires: the process was stopped.
  clock.now = () => 10_000;
  expect(work.signal?.aborted).toBe(false);
  expect(() => elector.assertLeading(work.signal)).toThrow('this process is not the leader');
});

test('a request of the leader is refused under the signal of a previous term, even if it leads again', async () => {
  const { leases, clock, elector, work } = await startLeader();
  leases.fault = () => ({ before: unreachable });
  await clock.advanceAsync(10_000);
  work.end();
  leases.fault = () => undefined;
  await clock.advanceAsync(5_000);
  expect(work.terms).toHaveLength(2);
  expect(() => elector.assertLeading(work.terms[1])).not.toThrow();
  expect(() => elector.assertLeading(work.terms[0])).toThrow('the lease is lost');
});

test('a request of the leader needs no lease without an election, but a running term', async () => {
  const { leases, elector, work, stop } = await startLeader({ enabled: false });
  expect(leases.operations).toEqual([]);
  expect(() => elector.assertLeading(work.signal)).not.toThrow();
  stop();
  expect(() => elector.assertLeading(work.signal)).toThrow('aborted');
});
