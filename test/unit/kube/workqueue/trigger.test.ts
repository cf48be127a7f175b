import { expect, test } from '@jest/globals';
import { Trigger } from '../../../../src/kube/workqueue/trigger.ts';

const DAY_MS = 86_400_000;

test('fire wakes the waiter', async () => {
  const trigger = new Trigger();
  const woken = trigger.next(DAY_MS, new AbortController().signal);
  trigger.fire();
  await expect(woken).resolves.toBeUndefined();
});

test('a signal without a waiter is kept, and counts once', async () => {
  const trigger = new Trigger();
  trigger.fire();
  trigger.fire();
  await trigger.next(DAY_MS, new AbortController().signal);
  let woken = false;
  const next = trigger.next(DAY_MS, new AbortController().signal).then(() => {
    woken = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(woken).toBe(false);
  trigger.fire();
  await next;
});

test('a wait ends at its timeout and on abort', async () => {
  const trigger = new Trigger();
  await trigger.next(1, new AbortController().signal);
  await trigger.next(DAY_MS, AbortSignal.abort());
});
