import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Queue } from '../../../../src/kube/workqueue/queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const newQueue = <K>() => new Queue<K>({ clock: new FakeClock() });

/** Consumes keys until the queue is shut down; `work` runs between get() and done(). */
async function consume<K>(queue: Queue<K>, work: (key: K) => Promise<void> | void): Promise<void> {
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    await work(key);
    queue.done(key);
  }
}

/** Whether the promise has settled by the next turn of the event loop. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await eventLoopTurn();
  return settled;
}

describe('get', () => {
  test('returns keys in the order in which they were added', async () => {
    const queue = newQueue<string>();
    for (const key of ['c', 'a', 'b']) queue.add(key);
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['c', 'a', 'b']);
  });

  test('serves waiting consumers in the order of their calls', async () => {
    const queue = newQueue<string>();
    const waiting = Promise.all([queue.get(), queue.get()]);
    queue.add('first');
    queue.add('second');
    expect(await waiting).toEqual(['first', 'second']);
  });

  test('returns a key once, at its first place, when it is added again while it waits', async () => {
    const queue = newQueue<string>();
    for (const key of ['foo', 'bar', 'foo']) queue.add(key);
    expect(queue.length).toBe(2);
    expect(await queue.get()).toBe('foo');
  });

  test('returns a key once for several adds', async () => {
    const queue = newQueue<string>();
    queue.add('bar');
    queue.add('bar');
    queue.done((await queue.get()) ?? '');
    expect(queue.length).toBe(0);
    expect(await isSettled(queue.get())).toBe(false);
  });
});

describe('a key in work', () => {
  test('that is added again is queued when it is done', async () => {
    const queue = newQueue<string>();
    queue.add('foo');
    await queue.get();
    queue.add('foo');
    expect(queue.length).toBe(0);
    queue.done('foo');
    expect(await queue.get()).toBe('foo');
    queue.done('foo');
    expect(queue.length).toBe(0);
  });

  test('that is added twice is queued once, and not before it is done', async () => {
    const queue = newQueue<string>();
    queue.add('foo');
    await queue.get();
    queue.add('foo');
    queue.add('foo');
    const otherWorker = queue.get();
    expect(await isSettled(otherWorker)).toBe(false);
    queue.done('foo');
    expect(await otherWorker).toBe('foo');
    queue.done('foo');
    expect(queue.length).toBe(0);
  });

  test('that is added meanwhile is queued behind waiting keys', async () => {
    const queue = newQueue<string>();
    queue.add('foo');
    await queue.get();
    queue.add('foo');
    queue.add('bar');
    queue.done('foo');
    expect([await queue.get(), await queue.get()]).toEqual(['bar', 'foo']);
  });
});

const shutDowns: [string, (queue: Queue<number>) => void | Promise<void>][] = [
  ['shutDown', (queue) => queue.shutDown()],
  ['shutDownWithDrain', (queue) => queue.shutDownWithDrain()],
];

describe.each(shutDowns)('after %s', (_, shutDown) => {
  test('with many producers and consumers each key is in work, none twice at once, and none added later', async () => {
    const queue = newQueue<number>();
    const inWork = new Set<number>();
    const seen = new Set<number>();
    const consumers = Array.from({ length: 10 }, () =>
      consume(queue, async (key) => {
        expect(inWork.has(key)).toBe(false);
        inWork.add(key);
        seen.add(key);
        await eventLoopTurn();
        inWork.delete(key);
      }),
    );
    const producers = Array.from({ length: 50 }, async (__, key) => {
      for (let round = 0; round < 50; round++) {
        queue.add(key);
        await eventLoopTurn();
      }
    });
    await Promise.all(producers);
    const stopped = shutDown(queue);
    queue.add(-1);
    await Promise.all([stopped, ...consumers]);
    expect(seen).toEqual(new Set(producers.keys()));
    expect(queue.length).toBe(0);
  });

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
    await Promise.all([shutDown(queue), ...consumers]);
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
    expect(queue.shuttingDown).toBe(true);
    expect([await queue.get(), await queue.get()]).toEqual(['foo', undefined]);
  });

  test('resolves every waiting consumer', async () => {
    const queue = newQueue<string>();
    const waiting = Promise.all([queue.get(), queue.get()]);
    queue.shutDown();
    expect(await waiting).toEqual([undefined, undefined]);
  });

  test('does not wait for keys in work', async () => {
    const queue = newQueue<string>();
    for (const key of ['foo', 'bar']) queue.add(key);
    await Promise.all([queue.get(), queue.get()]);
    queue.shutDown();
    expect(await queue.get()).toBeUndefined();
  });

  test('ends the wait of a shutDownWithDrain, for a second SIGTERM', async () => {
    const queue = newQueue<string>();
    for (const key of ['foo', 'bar']) queue.add(key);
    await Promise.all([queue.get(), queue.get()]);
    const drained = queue.shutDownWithDrain();
    expect(await queue.get()).toBeUndefined();
    expect(await isSettled(drained)).toBe(false);
    queue.shutDown();
    await expect(drained).resolves.toBeUndefined();
  });
});

describe('shutDownWithDrain', () => {
  test('waits until all keys in work are done', async () => {
    const queue = newQueue<string>();
    for (const key of ['foo', 'bar']) queue.add(key);
    await Promise.all([queue.get(), queue.get()]);
    const drained = queue.shutDownWithDrain();
    expect(await queue.get()).toBeUndefined();
    queue.done('foo');
    expect(await isSettled(drained)).toBe(false);
    queue.done('bar');
    await expect(drained).resolves.toBeUndefined();
  });

  test('waits for a key that was added while it was in work, and hands it out again', async () => {
    const queue = newQueue<string>();
    queue.add('foo');
    await queue.get();
    queue.add('foo');
    const drained = queue.shutDownWithDrain();
    expect(await queue.get()).toBeUndefined();
    queue.done('foo');
    expect(await isSettled(drained)).toBe(false);
    expect(await queue.get()).toBe('foo');
    queue.done('foo');
    expect(await queue.get()).toBeUndefined();
    await expect(drained).resolves.toBeUndefined();
  });
});
