import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Reconcile } from '../../../../src/kube/controller/controller.ts';
import { controllerMaker } from '../../../../src/kube/controller/leader-controller.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { held, until } from './controller-setup.ts';

function newLedController() {
  const clock = new FakeClock();
  return controllerMaker({ registry: new Registry(), clock, log: pino({ enabled: false }) })('network', 1);
}

function recorded(): { readonly reconcile: Reconcile; readonly keys: string[] } {
  const keys: string[] = [];
  const reconcile: Reconcile = async (key) => {
    keys.push(key);
    return {};
  };
  return { reconcile, keys };
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('a controller of the leader', () => {
  test('reconciles in its second term the keys that are added in it', async () => {
    const led = newLedController();
    const { reconcile, keys } = recorded();
    const [first, second] = [new AbortController(), new AbortController()];
    const former = led.run(reconcile, () => ['a'], first.signal);
    await until(() => keys.length === 1);
    first.abort();
    await former;
    led.queue.add('lost: no term runs');
    const current = led.run(reconcile, () => ['a'], second.signal);
    led.queue.add('b');
    await until(() => keys.length === 3);
    expect(keys).toEqual(['a', 'a', 'b']);
    second.abort();
    await current;
  });

  test('refuses a term before the previous one has ended, which keeps its own queue', async () => {
    const led = newLedController();
    const { reconcile, started, release } = held();
    const [first, second] = [new AbortController(), new AbortController()];
    const former = led.run(reconcile, () => ['a'], first.signal);
    await until(() => started.length === 1);
    await expect(led.run(reconcile, () => [], second.signal)).rejects.toThrow(
      'controller network: the previous term has not ended',
    );
    led.queue.add('b');
    release('a');
    await until(() => started.length === 2);
    expect(started).toEqual(['a', 'b']);
    first.abort();
    release('b');
    await former;
  });

  test('shows running and unsettled keys of the current term alone', async () => {
    const led = newLedController();
    const [first, second] = [new AbortController(), new AbortController()];
    let failed = 0;
    const former = led.run(
      async () => {
        failed += 1;
        throw new Error('no');
      },
      () => ['a'],
      first.signal,
    );
    await until(() => failed > 0);
    await until(() => JSON.stringify(led.debug()).includes('"attempts":1'));
    first.abort();
    await former;
    expect(led.debug()).toEqual({ name: 'network', running: [], unsettled: [] });
    const current = led.run(recorded().reconcile, () => [], second.signal);
    expect(led.debug()).toEqual({ name: 'network', running: [], unsettled: [] });
    second.abort();
    await current;
  });

  test('does not hold its first keys during the term', async () => {
    const led = newLedController();
    const { reconcile, keys } = recorded();
    const term = new AbortController();
    let first: WeakRef<readonly string[]> | undefined;
    const given = () => {
      const all = ['a', 'b'];
      first = new WeakRef(all);
      return all;
    };
    const run = led.run(reconcile, given, term.signal);
    await until(() => keys.length === 2);
    collectGarbage();
    expect(first?.deref()).toBeUndefined();
    term.abort();
    await run;
  });
});
