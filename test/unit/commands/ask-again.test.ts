import { expect, test } from '@jest/globals';
import { askAgainMs, repeat } from '../../../src/commands/ask-again.ts';
import { FakeClock } from '../../support/fake-clock.ts';

test('what the API server serves is asked again after ten to twelve minutes', () => {
  const delays = Array.from({ length: 1000 }, askAgainMs);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(600_000);
  expect(Math.max(...delays)).toBeLessThanOrEqual(720_000);
});

test('work is repeated after each delay, until the signal aborts', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let done = 0;
  const repeating = repeat(
    clock,
    () => 1000,
    async () => void done++,
    stop.signal,
  );
  await clock.advanceAsync(999);
  expect(done).toBe(0);
  await clock.advanceAsync(2001);
  expect(done).toBe(3);
  stop.abort(new Error('stop'));
  await repeating;
  expect([done, clock.pendingTimers]).toEqual([3, 0]);
});

test('work that fails ends it, with its error', async () => {
  const clock = new FakeClock();
  const fails = () => Promise.reject(new Error('failed'));
  const repeating = expect(repeat(clock, () => 1000, fails, new AbortController().signal)).rejects.toThrow(
    'failed',
  );
  await clock.advanceAsync(1000);
  await repeating;
});
