import { setFlagsFromString } from 'node:v8';
import { beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Controller, type Reconcile } from '../../../../src/kube/controller/controller.ts';
import { controllerMetrics, queueMetrics } from '../../../../src/kube/prometheus/index.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

const MINUTE_MS = 60_000;
const unused = () => {
  throw new Error('unexpected call');
};
let clock: FakeClock;
let led: Controller;
let keys: string[];
let registry: Registry;
beforeEach(() => {
  clock = new FakeClock();
  keys = [];
  registry = new Registry();
  led = new Controller({
    name: 'network',
    workers: 1,
    clock,
    log: pino({ enabled: false }),
    queueMetrics: queueMetrics(registry)('network'),
    metrics: controllerMetrics(registry)('network'),
    events: { event: unused },
  });
});

/** The metrics of its terms, by the middle of their names. */
async function termMetrics(): Promise<Readonly<Record<string, number>>> {
  const samples = (await registry.metrics()).matchAll(/^envoy_initializer_controller_(\w+)\{.*\} (\d+)/gm);
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]));
}

/** Begins a term; returns what ends it. */
function lead(
  reconcile: Reconcile = async () => ({}),
  first: readonly string[] = [],
): () => Promise<unknown> {
  const term = new AbortController();
  const recorded: Reconcile = (key, signal) => {
    keys.push(key);
    return reconcile(key, signal);
  };
  led.reconcile(recorded, { keys: () => first });
  const ended = led.run(term.signal);
  return () => {
    term.abort();
    return ended;
  };
}

setFlagsFromString('--expose-gc');

test('a controller of the leader reconciles in its second term the keys that are added in it', async () => {
  const end = lead(undefined, ['a']);
  await until(() => keys.length === 1);
  await end();
  led.queue.add('lost: no term runs');
  lead(undefined, ['a']);
  led.queue.add('b');
  await until(() => keys.length === 3);
  expect(keys).toEqual(['a', 'a', 'b']);
});

test('a controller of the leader refuses a term before the previous one has ended, whose queue stays', async () => {
  const hanging = Promise.withResolvers<object>();
  const end = lead(() => hanging.promise, ['a']);
  await until(() => keys.length === 1);
  await expect(lead()()).rejects.toThrow('controller network: the previous term has not ended');
  led.queue.add('b');
  hanging.resolve({});
  await until(() => keys.length === 2);
  await end();
});

test('a controller that idles is not stuck, and its heartbeat is not reconciled', async () => {
  lead();
  for (let minute = 0; minute < 60; minute++) {
    await clock.advanceAsync(MINUTE_MS);
    expect(led.problem()).toBeUndefined();
  }
  expect(keys).toEqual([]);
});

test('a controller is stuck whose events do not reach its queue', async () => {
  lead();
  await clock.advanceAsync(MINUTE_MS);
  led.queue.add = () => undefined;
  await clock.advanceAsync(5 * MINUTE_MS);
  expect(led.problem()).toBeUndefined();
  await clock.advanceAsync(1);
  expect(led.problem()).toBe('controller network is stuck: no reconcile and no heartbeat for 300 s');
});

test('a controller is stuck whose workers all hang, until they end', async () => {
  const hanging = Promise.withResolvers<object>();
  lead(() => hanging.promise, ['shop/net']);
  await clock.advanceAsync(5 * MINUTE_MS + 1);
  expect(led.problem()).toContain('no reconcile and no heartbeat for 300 s');
  hanging.resolve({});
  await clock.advanceAsync(0);
  expect(led.problem()).toBeUndefined();
});

test('a controller is not stuck whose heartbeat waits behind work that proceeds', async () => {
  // Each takes a minute, and together they take longer than the limit.
  const names = Array.from({ length: 10 }, (_, i) => `shop/net-${i}`);
  lead(() => new Promise((resolve) => clock.setTimer(MINUTE_MS, () => resolve({}))), names);
  for (let minute = 0; minute < 9; minute++) {
    await clock.advanceAsync(MINUTE_MS);
    expect(led.problem()).toBeUndefined();
  }
});

test('a controller is not stuck that is a standby, or whose leader lost its lease', async () => {
  expect([led.problem(), await termMetrics()]).toEqual([undefined, {}]);
  const end = lead(() => Promise.reject(new Error('no')), ['shop/net']);
  await clock.advanceAsync(0);
  expect(await termMetrics()).toEqual({
    term_running: 1,
    heartbeat_timestamp_seconds: expect.any(Number),
    last_reconcile_timestamp_seconds: expect.any(Number),
  });
  await end();
  await clock.advanceAsync(60 * MINUTE_MS);
  expect(led.problem()).toBeUndefined();
  expect(await termMetrics()).toEqual({
    term_running: 0,
    last_reconcile_timestamp_seconds: expect.any(Number),
  });
  expect(clock.pendingTimers).toBe(0);
});

test('a controller shows when a heartbeat last passed its queue, and not in between', async () => {
  const wallClock = jest.spyOn(Date, 'now').mockReturnValue(1_000_000);
  lead();
  wallClock.mockReturnValue(1_020_000);
  await clock.advanceAsync(29_999);
  expect(await termMetrics()).toEqual({ term_running: 1, heartbeat_timestamp_seconds: 1000 });
  await clock.advanceAsync(1);
  expect(await termMetrics()).toEqual({ term_running: 1, heartbeat_timestamp_seconds: 1020 });
  wallClock.mockRestore();
});
