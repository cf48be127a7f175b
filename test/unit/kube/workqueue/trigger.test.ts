import { expect, test } from '@jest/globals';
import { Trigger } from '../../../../src/kube/workqueue/trigger.ts';

const DAY_MS = 86_400_000;

test('a ring wakes who waits', async () => {
  const bell = new Trigger();
  const woken = bell.next(DAY_MS, new AbortController().signal);
  bell.ring();
  await expect(woken).resolves.toBeUndefined();
});

test('a ring that nobody waited for is not lost, and counts once', async () => {
  const bell = new Trigger();
  bell.ring();
  bell.ring();
  await bell.next(DAY_MS, new AbortController().signal);
  let woken = false;
  const next = bell.next(DAY_MS, new AbortController().signal).then(() => {
    woken = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(woken).toBe(false);
  bell.ring();
  await next;
});

test('nobody waits longer than he said, nor once it is over', async () => {
  const bell = new Trigger();
  await bell.next(1, new AbortController().signal);
  await bell.next(DAY_MS, AbortSignal.abort());
});
