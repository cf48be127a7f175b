import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { ObjectKey } from '../../../../src/kube/api/object.ts';
import { Controller, type Reconcile } from '../../../../src/kube/controller/controller.ts';
import { ReconcileHistory } from '../../../../src/kube/controller/reconcile-history.ts';
import { ReconcileWatchdog } from '../../../../src/kube/controller/reconcile-watchdog.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/rate-limiting-queue.ts';
import { deferred } from '../../../support/time/deferred.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const MINUTE_MS = 60_000;
const settled: Reconcile = async () => ({});

/** A controller whose event handlers can be cut off from its queue, as a leader's were in an outage. */
function setUp() {
  const clock = new FakeClock();
  const watchdog = new ReconcileWatchdog(clock);
  const keys: ObjectKey[] = [];
  let queue: WorkQueue<ObjectKey> | undefined;
  const handlers = { add: (key: ObjectKey) => queue?.add(key) };

  function lead(reconcile: Reconcile = settled) {
    const stop = new AbortController();
    const own = new WorkQueue<ObjectKey>({ clock, limiter: exponentialLimiter({ baseMs: 5, maxMs: 1_000 }) });
    const watched = watchdog.watch('network', handlers, (key, signal) => {
      keys.push(key);
      return reconcile(key, signal);
    });
    queue = own;
    const controller = new Controller({
      name: 'network',
      queue: own,
      reconcile: watched.reconcile,
      workers: 1,
      history: new ReconcileHistory({ wallClock: () => 0 }),
      log: pino({ level: 'silent' }),
      clock,
    });
    const running = controller.run(stop.signal);
    const end = async () => {
      stop.abort();
      await running;
      watched.end();
    };
    return { end };
  }

  return {
    ...{ clock, watchdog, keys, handlers, lead },
    goDeaf: () => {
      queue = undefined;
    },
    state: () => watchdog.controllers()[0],
  };
}

describe('the watchdog of reconciles', () => {
  test('finds no problem with an idle leader, and does not reconcile the heartbeat', async () => {
    const { clock, watchdog, keys, lead } = setUp();
    lead();
    for (let minute = 0; minute < 60; minute++) {
      await clock.advanceAsync(MINUTE_MS);
      expect(watchdog.problem()).toBeUndefined();
    }
    expect(keys).toEqual([]);
  });

  test('finds a leader whose event handlers do not reach its queue', async () => {
    const { clock, watchdog, lead, goDeaf } = setUp();
    lead();
    await clock.advanceAsync(MINUTE_MS);
    goDeaf();
    await clock.advanceAsync(5 * MINUTE_MS);
    expect(watchdog.problem()).toBeUndefined();
    await clock.advanceAsync(1);
    expect(watchdog.problem()).toBe('controller network is stuck: no reconcile and no heartbeat for 300 s');
  });

  test('finds a leader whose workers all hang', async () => {
    const { clock, watchdog, handlers, lead } = setUp();
    const hanging = deferred<object>();
    lead(() => hanging.promise);
    handlers.add('shop/net');
    await clock.advanceAsync(5 * MINUTE_MS + 1);
    expect(watchdog.problem()).toContain('no reconcile and no heartbeat for 300 s');
    hanging.resolve({});
    await clock.advanceAsync(0);
    expect(watchdog.problem()).toBeUndefined();
  });

  test('lets a heartbeat wait behind work that proceeds', async () => {
    const { clock, watchdog, handlers, lead } = setUp();
    // Each takes a minute, and together they take longer than the limit.
    lead(() => new Promise((resolve) => clock.setTimer(MINUTE_MS, () => resolve({}))));
    for (let i = 0; i < 10; i++) handlers.add(`shop/net-${i}`);
    for (let minute = 0; minute < 9; minute++) {
      await clock.advanceAsync(MINUTE_MS);
      expect(watchdog.problem()).toBeUndefined();
    }
    expect(watchdog.controllers()).toMatchObject([{ heartbeatAgeMs: 9 * MINUTE_MS }]);
  });

  test('counts a failed reconcile as one that ended', async () => {
    const { clock, handlers, lead, state } = setUp();
    lead(async () => {
      throw new Error('no');
    });
    handlers.add('shop/net');
    await clock.advanceAsync(0);
    expect(state()).toMatchObject({ reconcileAgeMs: 0 });
  });

  test('expects nothing of a standby or of a leader that lost its lease', async () => {
    const { clock, watchdog, lead, state } = setUp();
    expect([watchdog.problem(), watchdog.controllers()]).toEqual([undefined, []]);
    const term = lead();
    await clock.advanceAsync(MINUTE_MS);
    await term.end();
    await clock.advanceAsync(60 * MINUTE_MS);
    expect([watchdog.problem(), state()?.running, state()?.heartbeatAgeMs]).toEqual([
      undefined,
      false,
      undefined,
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('keeps watching the current term when a previous one ends late', async () => {
    const { clock, watchdog, lead, goDeaf } = setUp();
    const former = lead();
    lead();
    await former.end();
    expect(watchdog.controllers()).toMatchObject([{ running: true }]);
    goDeaf();
    await clock.advanceAsync(6 * MINUTE_MS);
    expect(watchdog.problem()).toBeDefined();
  });
});
