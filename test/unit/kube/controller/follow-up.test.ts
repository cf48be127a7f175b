import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { FollowUp, TerminalError } from '../../../../src/kube/controller/follow-up.ts';
import { exponentialLimiter } from '../../../../src/kube/workqueue/rate-limiters.ts';
import { WorkQueue } from '../../../../src/kube/workqueue/rate-limiting-queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

function newFollowUp(): FollowUp {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>({ clock, limiter: exponentialLimiter({ baseMs: 5, maxMs: 1_000 }) });
  const wallClock = () => Date.parse('2026-01-01T00:00:00Z');
  return new FollowUp({ queue, log: pino({ enabled: false }), wallClock });
}

test('attempts count up to the next success', () => {
  const followUp = newFollowUp();
  const steps = [
    () => followUp.failed('a', new Error('no')),
    () => followUp.succeeded('a', 0),
    () => followUp.failed('a', new TerminalError('no')),
    () => followUp.succeeded('a', 1_000),
    () => followUp.failed('a', new Error('no')),
    () => followUp.succeeded('a', undefined),
  ];
  const attempts = steps.map((step) => step() && followUp.unsettled()[0]?.attempts);
  expect(attempts).toEqual([1, 2, 3, 0, 1, undefined]);
});

test('only the latest 10,000 objects are remembered', () => {
  const followUp = newFollowUp();
  for (let i = 0; i <= 10_000; i++) followUp.failed(String(i), new TerminalError('no'));
  expect(followUp.unsettled()).toHaveLength(10_000);
  expect(followUp.unsettled()[0]?.key).toBe('1');
});

test('a long error message is cut, and a time beyond all dates can be written', () => {
  const followUp = newFollowUp();
  followUp.failed('a', new TerminalError('x'.repeat(100_000)));
  followUp.succeeded('b', Number.POSITIVE_INFINITY);
  const [failed, waiting] = followUp.unsettled();
  expect(failed?.error).toHaveLength(1024);
  expect(waiting?.nextTryAt).toBe('+275760-09-13T00:00:00.000Z');
});
