import { describe, expect, test } from '@jest/globals';
import { ShutdownBudget } from '../../../../src/kube/manager/shutdown.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const never = new Promise<never>(() => undefined);

function newBudget() {
  const clock = new FakeClock();
  const { log, lines } = capturedLog();
  return { clock, lines, budget: new ShutdownBudget(clock, log, 40_000) };
}

describe('the budget of a shutdown', () => {
  test('is whole until the shutdown starts', () => {
    const { clock, budget } = newBudget();
    clock.advance(60_000);
    expect(budget.leftMs).toBe(40_000);
    budget.start();
    clock.advance(10_000);
    budget.start();
    expect(budget.leftMs).toBe(30_000);
  });

  test('keeps the reserve for later steps when a step hangs, and logs that step', async () => {
    const { clock, lines, budget } = newBudget();
    const drained = budget.wait('drain', never, 8_000);
    await clock.advanceAsync(32_000);
    await drained;
    expect(lines).toMatchObject([{ msg: 'shutdown step did not end in time', step: 'drain', leftMs: 8_000 }]);
  });

  test('limits the sum of steps that all hang', async () => {
    const { clock, budget } = newBudget();
    const all = (async () => {
      await budget.wait('drain', never, 8_000);
      await budget.wait('background', never, 0);
      await budget.wait('connections', never, 0);
    })();
    await clock.advanceAsync(40_000);
    await all;
    expect(clock.now()).toBe(40_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not wait for a step that has succeeded or failed', async () => {
    const { clock, lines, budget } = newBudget();
    await budget.wait('drain', Promise.resolve(), 0);
    await budget.wait('background', Promise.reject(new Error('no')), 0);
    expect([clock.now(), clock.pendingTimers, lines]).toEqual([0, 0, []]);
  });
});
