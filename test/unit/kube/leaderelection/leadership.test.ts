import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { leadership } from '../../../../src/kube/leaderelection/leader-elector.ts';
import { FakeLeases, hang, unreachable } from '../../../support/kube/fake-leases.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

function newLeadership(enabled = true) {
  const leases = new FakeLeases();
  const clock = new FakeClock();
  const election = leadership({
    enabled,
    client: leases.client(),
    clock,
    wallClock: () => new Date(clock.now()),
    lease: { namespace: 'system', name: 'operator' },
    identity: 'me',
    log: pino({ enabled: false }),
  });
  const terms: AbortSignal[] = [];
  const stop = new AbortController();
  const ended = election.run(stop.signal, async (term) => {
    terms.push(term);
    await hang(term);
  });
  return { leases, clock, election, terms, stop, ended };
}

describe('a request of the leader', () => {
  test('is refused without a signal, which belongs to no term', async () => {
    const { clock, election } = newLeadership();
    await clock.advanceAsync(0);
    expect(() => election.assertLeading(undefined)).toThrow(
      'expected a request of the leader to carry the signal of its term, got none',
    );
  });

  test('is refused after the renew deadline, also when no timer could say so', async () => {
    const { leases, clock, election, terms } = newLeadership();
    await clock.advanceAsync(0);
    leases.fault = () => ({ before: unreachable });
    // Time passes and no timer fires: the process was stopped.
    clock.now = () => 10_000;
    expect(terms[0]?.aborted).toBe(false);
    expect(() => election.assertLeading(terms[0])).toThrow('this process does not lead');
  });

  test('is refused under the signal of a previous term, even if this process leads again', async () => {
    const { leases, clock, election, terms } = newLeadership();
    await clock.advanceAsync(0);
    leases.fault = () => ({ before: unreachable });
    await clock.advanceAsync(10_000);
    leases.fault = () => undefined;
    await clock.advanceAsync(5_000);
    expect(terms).toHaveLength(2);
    expect(() => election.assertLeading(terms[1])).not.toThrow();
    expect(() => election.assertLeading(terms[0])).toThrow('the lease is lost');
  });

  test('needs no lease without an election, but a running term', async () => {
    const { election, terms, stop, ended } = newLeadership(false);
    expect(() => election.assertLeading(terms[0])).not.toThrow();
    stop.abort(new Error('stopped'));
    await expect(ended).rejects.toThrow('stopped');
    expect(() => election.assertLeading(terms[0])).toThrow('stopped');
  });
});
