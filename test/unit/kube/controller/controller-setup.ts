import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { pino } from 'pino';
import {
  Controller,
  type ControllerOptions,
  type Reconcile,
} from '../../../../src/kube/controller/controller.ts';
import type { ControllerMetrics, ReconcileResult } from '../../../../src/kube/prometheus/index.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A controller around `reconcile`, with its logs and metrics. */
export function newController(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>({
    clock,
    limiter: exponentialLimiter(5, 1_000_000),
  });
  const log: LogLine[] = [];
  const metrics = new RecordedMetrics();
  const controller = new Controller({
    name: 'network',
    queue,
    reconcile,
    workers: 1,
    log: pino({ level: 'info', base: null }, { write: (line) => log.push(JSON.parse(line)) }),
    clock,
    metrics,
    ...options,
  });
  return { clock, queue, log, metrics, controller };
}

/** The same, running until `stop` is aborted. */
export function startController(...args: Parameters<typeof newController>) {
  const setup = newController(...args);
  const stop = new AbortController();
  return { ...setup, stop, stopped: setup.controller.run(stop.signal) };
}

class RecordedMetrics implements ControllerMetrics {
  workers = 0;
  active: number[] = [];
  results: [ReconcileResult, number][] = [];

  maxConcurrentReconciles(workers: number) {
    this.workers = workers;
  }
  activeWorkers(workers: number) {
    this.active.push(workers);
  }
  reconciled(result: ReconcileResult, seconds: number) {
    this.results.push([result, seconds]);
  }
}

/** Turns the event loop until the condition holds, or jest's timeout ends the test. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await eventLoopTurn();
}

/** A reconcile that gives the outcomes in turn, then success. An Error is thrown, a number is requeueAfterMs. */
export function scripted(...outcomes: readonly (Error | number)[]) {
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
export function held() {
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
