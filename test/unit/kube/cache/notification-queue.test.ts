import { expect, test } from '@jest/globals';
import { NotificationQueue } from '../../../../src/kube/cache/notification-queue.ts';

function filled(count: number) {
  const queue = new NotificationQueue();
  let handed = 0;
  for (let nth = 0; nth < count; nth++) queue.push(() => handed++);
  return { queue, handed: () => handed };
}

test('few wait when it is short', async () => {
  const { queue, handed } = filled(2_000);
  queue.start();
  await queue.untilShort();
  expect(handed()).toBe(1_500);
});

test('a queue that is paused hands over nothing, and lets go of what waits until it is short', async () => {
  const { queue, handed } = filled(2_000);
  await queue.untilShort();
  queue.start();
  const waiting = queue.untilShort();
  queue.pause();
  await waiting;
  expect(handed()).toBe(0);
});
