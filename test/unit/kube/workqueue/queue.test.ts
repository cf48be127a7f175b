import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const newQueue = <K>() => new WorkQueue<K>({ clock: new FakeClock(), limiter: exponentialLimiter(1, 1000) });

/** Consumes keys until the queue is shut down; `work` runs between get() and done(). */
async function consume<K>(queue: WorkQueue<K>, work: (key: K) => Promise<void> | void): Promise<void> {
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    await work(key);
    queue.done(key);
  }
}

describe('get', () => {
  test('returns keys in the order in which they were added', async () => {
    const queue = newQueue<string>();
    for (const key of ['c', 'a', 'b']) queue.add(key);
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['c', 'a', 'b']);
  });

  test('returns a key once, at its first place, when it is added again while it waits', async () => {
    const queue = newQueue<string>();
    for (const key of ['foo', 'bar', 'foo']) queue.add(key);
    expect(queue.length).toBe(2);
    expect(await queue.get()).toBe('foo');
  });
});

describe('after shutDown', () => {
  test('a key that its worker adds again is worked off', async () => {
    const queue = newQueue<number>();
    const tries = new Map<number, number>();
    for (let key = 0; key < 50; key++) queue.add(key);
    const consumers = Array.from({ length: 10 }, () =>
      consume(queue, (key) => {
        const tried = (tries.get(key) ?? 0) + 1;
        tries.set(key, tried);
        if (tried < 2) queue.add(key);
      }),
    );
    await eventLoopTurn();
    queue.shutDown();
    await Promise.all(consumers);
    expect([...tries.values()]).toEqual(Array(50).fill(2));
    expect(queue.length).toBe(0);
  });
});

describe('shutDown', () => {
  test('still hands out queued keys, and then undefined', async () => {
    const queue = newQueue<string>();
    queue.add('foo');
    queue.shutDown();
    queue.add('too late');
    expect([await queue.get(), await queue.get()]).toEqual(['foo', undefined]);
  });
});
