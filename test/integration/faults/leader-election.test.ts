import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { type ElectionTiming, LeaderElector } from '../../../src/kube/leaderelection/leader-elector.ts';
import { LEASES } from '../../../src/kube/leaderelection/lease.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';
import { deferred } from '../../support/time/deferred.ts';
import { watchUntil } from '../../support/time/watch-until.ts';

let controlPlane: ControlPlane;
let observer: ApiAccess;
let cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  observer = connect(controlPlane.kubeconfigPath);
}, 60_000);

afterEach(async () => {
  const all = cleanups;
  cleanups = [];
  await Promise.all(all.map((cleanup) => cleanup()));
});

afterAll(async () => {
  await observer.close();
  await controlPlane.stop();
});

const quick: ElectionTiming = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 200 };
/** Within which no test of 15 s sees a lease run out. */
const lasting: ElectionTiming = { leaseDurationMs: 60_000, renewDeadlineMs: 50_000, retryPeriodMs: 200 };

/** A process that takes part in the election and leads until it is told to stop. */
function startCandidate(name: string, identity: string, timing: ElectionTiming) {
  const { client, close } = connect(controlPlane.kubeconfigPath);
  const waiting = deferred();
  const started = deferred<AbortSignal>();
  const stop = new AbortController();
  const elector = new LeaderElector({
    client,
    clock: systemClock,
    wallClock: () => new Date(),
    lease: { namespace: 'default', name },
    identity,
    timing,
    log: pino({}, { write: (line) => line.includes('waiting for the lease') && waiting.resolve() }),
  });
  const run = elector.run(stop.signal, (leading) => {
    started.resolve(leading);
    return new Promise((resolve) => leading.addEventListener('abort', () => resolve()));
  });
  cleanups.push(async () => {
    stop.abort();
    await run;
    await close();
  });
  return {
    elector,
    run,
    /** Resolves when it has seen that another leads. */
    waiting: waiting.promise,
    /** Resolves, with the signal of its work, when it leads. */
    started: started.promise,
    stop: () => stop.abort(),
    /** As if its machine lost power: it neither renews nor gives up. */
    crash: close,
  };
}

function leaseOf(name: string) {
  return observer.client.get(LEASES, { namespace: 'default', name });
}

describe('two candidates of one lease', () => {
  test('lead one after the other when the leader crashes, which has ended its work by then', async () => {
    const first = startCandidate('crash', 'first', quick);
    const leading = await first.started;
    const second = startCandidate('crash', 'second', quick);
    await second.waiting;

    await first.crash();
    await second.started;

    expect(leading.aborted).toBe(true);
    expect(first.elector.isLeader()).toBe(false);
    expect(second.elector.isLeader()).toBe(true);
    expect(await first.run).toBe('lost');
    expect((await leaseOf('crash')).spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
  }, 15_000);

  test('change places at once when the leader gives the lease up', async () => {
    const first = startCandidate('release', 'first', lasting);
    await first.started;
    const second = startCandidate('release', 'second', lasting);
    await second.waiting;

    first.stop();
    expect(await first.run).toBe('stopped');
    await second.started;

    expect((await leaseOf('release')).spec).toMatchObject({
      holderIdentity: 'second',
      leaseDurationSeconds: 60,
      leaseTransitions: 1,
    });
  }, 15_000);
});

test('of many candidates never two lead at once, and each has its turn', async () => {
  const { client } = observer;
  let leaders = 0;
  const terms: { readonly identity: string; readonly leaders: number; readonly isLeader: boolean }[] = [];
  const take = async (identity: string) => {
    const elector = new LeaderElector({
      client,
      clock: systemClock,
      wallClock: () => new Date(),
      lease: { namespace: 'default', name: 'relay' },
      identity,
      ...lasting,
      log: pino({ enabled: false }),
    });
    await elector.run(new AbortController().signal, async () => {
      leaders++;
      // A round trip, in which a second leader would show.
      await leaseOf('relay');
      terms.push({ identity, leaders, isLeader: elector.isLeader() });
      leaders--;
    });
  };

  await Promise.all(['a', 'b', 'c', 'd'].map(take));

  expect(terms.map(({ identity }) => identity).sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(terms.every((term) => term.leaders === 1 && term.isLeader)).toBe(true);
  expect((await leaseOf('relay')).spec).toMatchObject({ holderIdentity: '', leaseTransitions: 3 });
}, 15_000);

test('a leader leads on when the API server is back within the renew deadline', async () => {
  const leader = startCandidate('restart', 'first', lasting);
  const leading = await leader.started;

  await controlPlane.restartApiServer('SIGKILL');
  const { spec } = await leaseOf('restart');
  await watchUntil(
    observer.client,
    LEASES,
    'default',
    ({ metadata, spec: now }) => metadata.name === 'restart' && now?.renewTime !== spec?.renewTime,
  );

  expect(leading.aborted).toBe(false);
  expect(leader.elector.isLeader()).toBe(true);
}, 60_000);

test('what others put on the Lease stays there', async () => {
  const leader = startCandidate('labelled', 'first', lasting);
  await leader.started;

  const { stderr } = await controlPlane.kubectl(['label', 'lease', 'labelled', 'team=mesh']);
  expect(stderr).toBe('');
  const { spec } = await leaseOf('labelled');
  const renewed = await watchUntil(
    observer.client,
    LEASES,
    'default',
    ({ metadata, spec: now }) => metadata.name === 'labelled' && now?.renewTime !== spec?.renewTime,
  );

  expect(renewed.metadata.labels).toEqual({ team: 'mesh' });
  expect(leader.elector.isLeader()).toBe(true);
}, 15_000);
