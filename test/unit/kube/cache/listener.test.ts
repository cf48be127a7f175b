import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { type EventHandler, Listener, type ListenerOptions } from '../../../../src/kube/cache/listener.ts';
import { NotificationQueue } from '../../../../src/kube/cache/notification-queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/** A running listener of strings, and what its handler heard. */
function started(options: Partial<ListenerOptions<string>> = {}, handler: EventHandler<string> = {}) {
  const clock = new FakeClock();
  const heard: string[] = [];
  const queue = new NotificationQueue();
  const listener = new Listener<string>(
    { onAdd: (object) => heard.push(object), onUpdate: (object) => heard.push(object), ...handler },
    {
      ...{ queue, clock, resyncMs: undefined },
      ...{ snapshot: () => [], onError: () => undefined, onSynced: () => undefined },
      ...options,
    },
  );
  queue.start();
  listener.start();
  const add = (object: string) => listener.notify((each) => each.onAdd?.(object, false));
  return { clock, heard, listener, queue, add };
}

test('a listener yields to the event loop between slices of a long queue, and loses and repeats nothing', async () => {
  const { heard, add, queue } = started();
  const all = Array.from({ length: 3000 }, (_, i) => `${i}`);
  for (const object of all.slice(0, 2000)) add(object);
  await until(() => heard.length > 0);
  expect(heard).toHaveLength(500);
  // More notifications come while it hands over.
  for (const object of all.slice(2000)) add(object);
  await queue.untilShort();
  expect(heard).toHaveLength(2500);
  await until(() => heard.length === 3000);
  expect(heard).toEqual(all);
});

test('a queue that is paused hands over nothing, and nobody waits until it is short', async () => {
  const { heard, add, queue } = started();
  for (let nth = 0; nth < 2000; nth++) add('a');
  const waiting = queue.untilShort();
  queue.pause();
  await waiting;
  await queue.untilShort();
  expect(heard).toEqual([]);
});

test('a listener drops the rest of the slice when its own handler stops it', async () => {
  const heard: string[] = [];
  const onAdd = (object: string) => {
    heard.push(object);
    listener.stop();
  };
  const { listener, add } = started({}, { onAdd });
  add('a');
  add('b');
  await until(() => heard.length > 0);
  await eventLoopTurn();
  expect(heard).toEqual(['a']);
});

test('a resync runs at most once a second', async () => {
  const { clock, heard } = started({ resyncMs: 1, snapshot: () => ['a'] });
  await clock.advanceAsync(999);
  expect(heard).toEqual([]);
  await clock.advanceAsync(1);
  expect(heard).toEqual(['a']);
});

test.each([0, undefined])('there is no resync with a period of %p', (resyncMs) => {
  expect(started({ resyncMs }).clock.pendingTimers).toBe(0);
});
