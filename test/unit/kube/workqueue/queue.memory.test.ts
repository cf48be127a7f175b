import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

test('a key that is done is released while others wait behind it', async () => {
  const queue = new WorkQueue<object>({ clock: new FakeClock(), limiter: exponentialLimiter(1, 1) });
  const others = Array.from({ length: 10 }, () => ({}));
  // In a separate function, so that no variable here holds the key.
  const workOffAKey = async () => {
    const key = {};
    for (const each of [key, ...others]) queue.add(each);
    await queue.get();
    queue.done(key);
    return new WeakRef(key);
  };
  const reference = await workOffAKey();
  await eventLoopTurn();
  collectGarbage();
  expect(reference.deref()).toBeUndefined();
  expect(await queue.get()).toBe(others[0]);
});
