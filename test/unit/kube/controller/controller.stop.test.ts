import { describe, expect, test } from '@jest/globals';
import { held, startController, until } from './controller-setup.ts';

describe('stopping a controller', () => {
  test('waits for the running reconciles and starts none of those queued', async () => {
    const { reconcile, started, release } = held();
    const { clock, queue, log, stop, stopped } = startController(reconcile, { workers: 2 });
    for (const name of ['a', 'b', 'c']) queue.add(name);
    await until(() => started.length === 2);
    let isStopped = false;
    const end = stopped.then(() => {
      isStopped = true;
    });
    stop.abort();
    release('a');
    await clock.advanceAsync(29_999);
    expect(isStopped).toBe(false);
    release('b');
    await end;
    expect(started).toEqual(['a', 'b']);
    expect(clock.pendingTimers).toBe(0);
    expect(log).toEqual([]);
  });

  test.each([
    ['succeeds', async () => ({})],
    ['requeues', async () => ({ requeueAfterMs: 1 })],
    [
      'fails',
      async () => {
        throw new Error('late');
      },
    ],
  ])('neither counts nor records a reconcile that %s after the drain timeout', async (_, outcome) => {
    const { reconcile, started, release } = held();
    const { clock, queue, log, metrics, controller, stop, stopped } = startController(async (key, signal) => {
      await reconcile(key, signal);
      return outcome();
    });
    queue.add('default/stuck');
    await until(() => started.length === 1);
    stop.abort();
    await clock.advanceAsync(30_000);
    await stopped;
    expect(log).toMatchObject([
      { msg: 'gave up on reconciles still running at the drain timeout', running: ['default/stuck'] },
    ]);
    const seen = [log.length, metrics.active.length];
    release('default/stuck');
    await until(() => controller.running().length === 0);
    expect([log.length, metrics.active.length]).toEqual(seen);
    expect(metrics.results).toEqual([]);
  });

  test('aborts the signal of the reconciles, and neither warns of nor retries those that fail by it', async () => {
    let started = false;
    const { clock, queue, log, metrics, stop, stopped } = startController(async (_, signal) => {
      started = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw signal.reason;
    });
    queue.add('default/example');
    await until(() => started);
    stop.abort();
    await stopped;
    expect(log).toMatchObject([
      {
        level: 30,
        msg: 'reconcile interrupted by the shutdown',
        key: 'default/example',
        err: { name: 'AbortError' },
      },
    ]);
    expect(metrics.results).toEqual([['error', 0]]);
    expect(clock.pendingTimers).toBe(0);
  });
});
