import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import {
  Controller,
  type ControllerOptions,
  type Reconcile,
  TerminalError,
} from '../../../../src/kube/controller/controller.ts';
import {
  type ControllerMetrics,
  queueMetrics,
  type ReconcileResult,
} from '../../../../src/kube/prometheus/index.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/** A controller around `reconcile` in a term that runs until `stop` is aborted, with its logs and metrics. */
function startController(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = new FakeClock();
  const { log: logger, lines: log } = capturedLog('info');
  const metrics = new RecordedMetrics();
  const controller = new Controller({
    name: 'network',
    workers: 1,
    log: logger,
    clock,
    metrics,
    queueMetrics: queueMetrics(new Registry())('network'),
    events: { event: () => undefined },
    ...options,
  });
  controller.reconcile(reconcile, { keys: () => [] });
  const stop = new AbortController();
  return { clock, queue: controller.queue, log, metrics, stop, stopped: controller.run(stop.signal) };
}

class RecordedMetrics implements ControllerMetrics {
  workers = 0;
  active: number[] = [];
  /** Without heartbeats. */
  results: [ReconcileResult, number][] = [];
  #isHeartbeat = false;

  termBegan(workers: number) {
    this.workers = workers;
  }
  termEnded() {}
  heartbeat() {
    this.#isHeartbeat = true;
  }
  reconcileEnded() {}
  activeWorkers(workers: number) {
    this.active.push(workers);
  }
  reconciled(result: ReconcileResult, seconds: number) {
    if (!this.#isHeartbeat) this.results.push([result, seconds]);
    this.#isHeartbeat = false;
  }
}

/** A reconcile that gives the outcomes in turn, then success. An Error is thrown, a number is requeueAfterMs. */
function scripted(...outcomes: readonly (Error | number)[]) {
  const keys: string[] = [];
  const rest = [...outcomes];
  const reconcile: Reconcile = async (key) => {
    keys.push(key);
    const outcome = rest.shift();
    if (outcome instanceof Error) throw outcome;
    return outcome === undefined ? {} : { requeueAfterMs: outcome };
  };
  return { reconcile, keys };
}

/** A reconcile that keeps running until it is released, key by key. */
function held() {
  const release = new Map<string, () => void>();
  const started: string[] = [];
  const reconcile: Reconcile = async (key) => {
    started.push(key);
    await new Promise<void>((resolve) => release.set(key, resolve));
    release.delete(key);
    return {};
  };
  return { reconcile, started, running: release, release: (key: string) => release.get(key)?.() };
}

const key = 'default/example';

test('the workers of a controller reconcile as many keys at once as there are, and no more', async () => {
  const { reconcile, started, running, release } = held();
  const { queue, metrics } = startController(reconcile, { workers: 2 });
  for (const name of ['a', 'b', 'c']) queue.add(name);
  await until(() => started.length === 2);
  expect([...running.keys()]).toEqual(['a', 'b']);
  release('a');
  await until(() => started.length === 3);
  expect([...running.keys()]).toEqual(['b', 'c']);
  expect(metrics.workers).toBe(2);
  expect(metrics.active).toEqual([1, 2, 1, 2]);
});

test('the workers of a controller yield to the event loop between reconciles that never wait', async () => {
  const reconciled: string[] = [];
  let reconciledAtTurn = 0;
  const { queue } = startController(async (name) => {
    if (reconciled.length === 0) setImmediate(() => (reconciledAtTurn = reconciled.length));
    reconciled.push(name);
    return {};
  });
  for (let i = 0; i < 100; i++) queue.add(`default/${i}`);
  await until(() => reconciled.length === 100);
  expect(reconciledAtTurn).toBeGreaterThan(0);
  expect(reconciledAtTurn).toBeLessThan(5);
});

test('a reconcile that succeeds with requeueAfterMs is repeated after it, and its failures are forgotten', async () => {
  const { reconcile, keys } = scripted(new Error('no'), 30_000);
  const { clock, queue, metrics } = startController(reconcile);
  queue.add(key);
  await until(() => metrics.results.length === 1);
  await clock.advanceAsync(5);
  await until(() => metrics.results.length === 2);
  await clock.advanceAsync(29_999);
  expect(keys).toHaveLength(2);
  await clock.advanceAsync(1);
  await until(() => metrics.results.length === 3);
  expect(metrics.results.map(([result]) => result)).toEqual(['error', 'requeue_after', 'success']);
});

test.each([0, Number.NaN])(
  'a reconcile that succeeds with requeueAfterMs %p is repeated with back-off, not in a hot loop',
  async (requeueAfterMs) => {
    const { reconcile, keys } = scripted(requeueAfterMs, requeueAfterMs);
    const { clock, queue, metrics } = startController(reconcile);
    queue.add(key);
    await until(() => metrics.results.length === 1);
    await clock.advanceAsync(5);
    await until(() => metrics.results.length === 2);
    await clock.advanceAsync(9);
    expect(keys).toHaveLength(2);
    await clock.advanceAsync(1);
    await until(() => metrics.results.length === 3);
    expect(metrics.results.map(([result]) => result)).toEqual(['requeue', 'requeue', 'success']);
  },
);

test('a reconcile that fails is retried with growing delays until it succeeds, and then forgotten', async () => {
  const { reconcile, keys } = scripted(new Error('first'), new Error('second'));
  const { clock, queue, log, metrics } = startController(reconcile);
  queue.add(key);
  await until(() => metrics.results.length === 1);
  await clock.advanceAsync(5);
  await until(() => metrics.results.length === 2);
  await clock.advanceAsync(10);
  await until(() => metrics.results.length === 3);
  expect(keys).toEqual([key, key, key]);
  expect(log).toMatchObject([
    { level: 40, msg: 'reconcile failed', controller: 'network', key, attempts: 1, retryInMs: 5 },
    { level: 40, msg: 'reconcile failed', controller: 'network', key, attempts: 2, retryInMs: 10 },
  ]);
});

test('a reconcile that fails of a conflict is logged from the fourth in a row on', async () => {
  const conflict = apiErrorFrom(409, { reason: 'Conflict' }, undefined);
  const { reconcile } = scripted(conflict, conflict, conflict, conflict);
  const { clock, queue, log, metrics } = startController(reconcile);
  queue.add(key);
  for (const [index, delayMs] of [5, 10, 20, 40].entries()) {
    await until(() => metrics.results.length === index + 1);
    await clock.advanceAsync(delayMs);
  }
  await until(() => metrics.results.length === 5);
  expect(log).toMatchObject([{ level: 40, msg: 'reconcile failed', attempts: 4 }]);
});

test('a reconcile that fails is not retried before Retry-After', async () => {
  const { reconcile, keys } = scripted(apiErrorFrom(429, {}, '30'));
  const { clock, queue, metrics } = startController(reconcile);
  queue.add(key);
  await until(() => metrics.results.length === 1);
  await clock.advanceAsync(29_999);
  expect(keys).toHaveLength(1);
  await clock.advanceAsync(1);
  await until(() => metrics.results.length === 2);
});

test('a reconcile that fails with a TerminalError is logged once, and not retried until an event', async () => {
  const { reconcile, keys } = scripted(new Error('once'), new TerminalError('cidr is not a range'));
  const { clock, queue, log, metrics } = startController(reconcile);
  queue.add(key);
  await until(() => metrics.results.length === 1);
  await clock.advanceAsync(5);
  await until(() => metrics.results.length === 2);
  await clock.advanceAsync(3_600_000);
  expect(keys).toHaveLength(2);
  expect(log.filter(({ level }) => level === 50)).toMatchObject([
    { key, err: { type: 'TerminalError', message: 'cidr is not a range' } },
  ]);
  queue.add(key);
  await until(() => metrics.results.length === 3);
  expect(metrics.results.at(-1)?.[0]).toBe('success');
});

const throwing = (value: unknown) => () => {
  throw value;
};
test.each([
  ['an Error, before it returns a promise', throwing(new Error('sync')), 'sync'],
  ['an object without a prototype', throwing(Object.create(null)), /^expected an Error to be thrown, got/],
])(
  'a reconcile that fails by throwing %s is retried, and the worker continues',
  async (_, reconcile, message) => {
    const { queue, log, metrics } = startController(reconcile);
    queue.add(key);
    queue.add('default/other');
    await until(() => metrics.results.length === 2);
    expect(log).toMatchObject([
      { key, err: { message: expect.stringMatching(message) } },
      { key: 'default/other', msg: 'reconcile failed' },
    ]);
  },
);

test('a controller that stops waits for the running reconciles and starts none of those queued', async () => {
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
])(
  'a controller that stops does not count or record a reconcile that %s after the drain timeout',
  async (_, outcome) => {
    const { reconcile, started, running, release } = held();
    const { clock, queue, log, metrics, stop, stopped } = startController(async (key, signal) => {
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
    await until(() => running.size === 0);
    expect([log.length, metrics.active.length]).toEqual(seen);
    expect(metrics.results).toEqual([]);
  },
);

test('a controller that stops aborts its reconciles, and neither warns of nor retries what fails by it', async () => {
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
