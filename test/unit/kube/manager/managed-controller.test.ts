import { setFlagsFromString } from 'node:v8';
import { beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Reconcile } from '../../../../src/kube/controller/controller.ts';
import { type ProcessOptions, runProcess } from '../../../../src/kube/manager/lifecycle.ts';
import { ManagedController } from '../../../../src/kube/manager/managed-controller.ts';
import { controllerMetrics, queueMetrics } from '../../../../src/kube/prometheus/index.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

const MINUTE_MS = 60_000;
const unused = () => {
  throw new Error('unexpected call');
};
let clock: FakeClock;
let led: ManagedController;
let keys: string[];
beforeEach(() => {
  clock = new FakeClock();
  keys = [];
  const registry = new Registry();
  led = new ManagedController({
    name: 'network',
    workers: 1,
    clock,
    log: pino({ enabled: false }),
    queueMetrics: queueMetrics(registry)('network'),
    metrics: controllerMetrics(registry)('network'),
    events: { event: unused },
  });
});

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
  expect(led.watched()).toMatchObject({ heartbeatAgeMs: 9 * MINUTE_MS });
});

test('a controller is not stuck that is a standby, or whose leader lost its lease', async () => {
  expect([led.problem(), led.watched()]).toEqual([undefined, undefined]);
  const end = lead(() => Promise.reject(new Error('no')), ['shop/net']);
  await clock.advanceAsync(0);
  expect(led.watched()).toMatchObject({ running: true, reconcileAgeMs: 0 });
  await end();
  await clock.advanceAsync(60 * MINUTE_MS);
  expect(led.problem()).toBeUndefined();
  expect(led.watched()).toMatchObject({ running: false, heartbeatAgeMs: undefined });
  expect(clock.pendingTimers).toBe(0);
});

const never = new Promise<never>(() => undefined);

/** A process with these parts, for whose shutdown there are 40 s. */
function started(parts: Pick<ProcessOptions, 'lead' | 'background' | 'close'>) {
  const clock = new FakeClock();
  const { log, lines } = capturedLog();
  const stop = new AbortController();
  const ended = runProcess({
    stop: stop.signal,
    shutdown: { delayMs: 0, timeoutMs: 40_000 },
    clock,
    log,
    preparations: [],
    probes: undefined,
    webhooks: undefined,
    ...parts,
  });
  const late = () => lines.filter(({ msg }) => msg === 'shutdown step did not end in time');
  return { clock, stop, ended, late };
}

test('steps of a shutdown that all hang take its time together, and the drain leaves a reserve', async () => {
  const { clock, stop, ended, late } = started({
    lead: () => never,
    background: [() => never],
    close: () => never,
  });
  await clock.advanceAsync(60_000);
  stop.abort();
  await clock.advanceAsync(32_000);
  expect(late()).toMatchObject([{ step: 'drain', leftMs: 8_000 }]);
  await clock.advanceAsync(8_000);
  await ended;
  expect(late()).toMatchObject([{ step: 'drain' }, { step: 'background' }, { step: 'connections' }]);
  expect([clock.now(), clock.pendingTimers]).toEqual([100_000, 0]);
});
