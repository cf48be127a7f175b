import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { type EventHandler, Listener, type ListenerOptions } from '../../../../src/kube/cache/listener.ts';
import { NotificationQueue } from '../../../../src/kube/cache/notification-queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/** A listener of strings, and the calls of its handler. */
function newListener(options: Partial<ListenerOptions<string>> = {}, handler: EventHandler<string> = {}) {
  const clock = new FakeClock();
  const heard: string[] = [];
  const errors: unknown[] = [];
  const queue = new NotificationQueue();
  const listener = new Listener<string>(
    {
      onAdd: (object, initial) => heard.push(`add ${object}${initial ? ' initial' : ''}`),
      onUpdate: (previous, current) => heard.push(`update ${previous} ${current}`),
      onDelete: (object, unknown) => heard.push(`delete ${object}${unknown ? ' unknown' : ''}`),
      ...handler,
    },
    {
      queue,
      clock,
      resyncMs: undefined,
      snapshot: () => [],
      onError: (error) => errors.push(error),
      onSynced: () => heard.push('synced'),
      ...options,
    },
  );
  const start = () => {
    queue.start();
    listener.start();
  };
  return { clock, heard, errors, listener, queue, start };
}

describe('a listener', () => {
  test('hands over in order, and later than the change itself', async () => {
    const { heard, listener, start } = newListener();
    start();
    listener.add('a', true);
    listener.markInitialListEnd();
    listener.update('a', 'b');
    listener.delete('b', true);
    expect([heard, listener.hasSynced()]).toEqual([[], false]);
    await until(() => heard.length === 4);
    expect(heard).toEqual(['add a initial', 'synced', 'update a b', 'delete b unknown']);
    expect(listener.hasSynced()).toBe(true);
  });

  test('keeps all notifications until its start', async () => {
    const { heard, listener, start } = newListener();
    listener.add('a', true);
    await eventLoopTurn();
    expect(heard).toEqual([]);
    start();
    await until(() => heard.length === 1);
  });

  test('yields to the event loop between slices of a long queue, and loses and repeats nothing', async () => {
    const { heard, listener, start } = newListener();
    start();
    const all = Array.from({ length: 3000 }, (_, i) => `${i}`);
    for (const object of all.slice(0, 2000)) listener.add(object, false);
    await until(() => heard.length > 0);
    expect(heard).toHaveLength(500);
    // More notifications come while it hands over.
    for (const object of all.slice(2000)) listener.add(object, false);
    await until(() => heard.length === 3000);
    expect(heard).toEqual(all.map((object) => `add ${object}`));
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('handler');
      },
    ],
    [
      'returns a promise that is rejected',
      async () => {
        throw new Error('handler');
      },
    ],
  ])('reports a handler that %s, and keeps calling it', async (_, onAdd) => {
    const { heard, errors, listener, start } = newListener({}, { onAdd });
    start();
    listener.add('a', true);
    listener.markInitialListEnd();
    listener.delete('a', false);
    await until(() => heard.length === 2 && errors.length > 0);
    expect(heard).toEqual(['synced', 'delete a']);
    expect(errors).toEqual([new Error('handler')]);
  });

  test('accepts a handler without some of the methods', async () => {
    const { errors, listener, queue } = newListener();
    queue.start();
    const silent = new Listener<string>(
      {},
      {
        queue,
        clock: new FakeClock(),
        resyncMs: undefined,
        snapshot: () => [],
        onError: (e) => errors.push(e),
        onSynced: () => undefined,
      },
    );
    silent.start();
    silent.add('a', true);
    silent.update('a', 'b');
    silent.delete('b', false);
    silent.markInitialListEnd();
    await until(() => silent.hasSynced());
    expect([errors, listener.hasSynced()]).toEqual([[], false]);
  });

  test('drops all notifications once stopped, also waiting ones', async () => {
    const { clock, heard, listener, start } = newListener({ resyncMs: 1000, snapshot: () => ['a'] });
    start();
    listener.add('a', true);
    listener.stop();
    listener.add('b', false);
    clock.advance(5000);
    await eventLoopTurn();
    await eventLoopTurn();
    expect([heard, clock.pendingTimers]).toEqual([[], 0]);
    start();
    await eventLoopTurn();
    expect(heard).toEqual([]);
  });

  test('drops the rest of the slice when its own handler stops it', async () => {
    const heard: string[] = [];
    const { listener, start } = newListener(
      {},
      {
        onAdd: (object) => {
          heard.push(object);
          listener.stop();
        },
      },
    );
    start();
    listener.add('a', false);
    listener.add('b', false);
    await until(() => heard.length > 0);
    await eventLoopTurn();
    expect(heard).toEqual(['a']);
  });
});

describe('a resync', () => {
  test('replays the cache with its period', async () => {
    let cache = ['a', 'b'];
    const { clock, heard, start } = newListener({ resyncMs: 3000, snapshot: () => cache });
    start();
    await clock.advanceAsync(2999);
    expect(heard).toEqual([]);
    await clock.advanceAsync(1);
    expect(heard).toEqual(['update a a', 'update b b']);
    cache = ['c'];
    await clock.advanceAsync(3000);
    expect(heard.slice(2)).toEqual(['update c c']);
  });

  test('runs at most once a second', async () => {
    const { clock, heard, start } = newListener({ resyncMs: 1, snapshot: () => ['a'] });
    start();
    await clock.advanceAsync(999);
    expect(heard).toEqual([]);
    await clock.advanceAsync(1);
    expect(heard).toEqual(['update a a']);
  });

  test.each([0, undefined])('does not run with a period of %p', (resyncMs) => {
    const { clock, start } = newListener({ resyncMs });
    start();
    expect(clock.pendingTimers).toBe(0);
  });
});
