import { describe, expect, test } from '@jest/globals';

import { rateLimit } from '../../../src/kube/rate-limit.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function setUp(qps: number, burst: number) {
  const clock = new FakeClock();
  const waitTurn = rateLimit({ clock, qps, burst });
  const served: string[] = [];
  const ask = async (name: string, signal?: AbortSignal) => {
    await waitTurn(signal);
    served.push(name);
  };
  return { clock, served, ask };
}

describe('a rate limit', () => {
  test('lets a burst through at once, and then one at a time', async () => {
    const { clock, served, ask } = setUp(10, 2);
    const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => ask(name)));

    await clock.advanceAsync(0);
    expect(served).toEqual(['a', 'b']);
    await clock.advanceAsync(99);
    expect(served).toEqual(['a', 'b']);
    await clock.advanceAsync(1);
    expect(served).toEqual(['a', 'b', 'c']);
    await clock.advanceAsync(100);
    await all;
    expect(served).toEqual(['a', 'b', 'c', 'd']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('serves first who came first, also when a token is there for a later one', async () => {
    const { clock, served, ask } = setUp(10, 1);
    const all = [ask('a'), ask('b'), ask('c')];
    await clock.advanceAsync(100);
    all.push(ask('d'));
    await clock.advanceAsync(200);
    await Promise.all(all);

    expect(served).toEqual(['a', 'b', 'c', 'd']);
  });

  test('holds no one up for those who gave up', async () => {
    const { clock, served, ask } = setUp(10, 1);
    const gone = new AbortController();
    await ask('a');
    const aborted = Promise.allSettled([ask('b', gone.signal), ask('c', gone.signal), ask('d', gone.signal)]);
    const last = ask('e');

    gone.abort(new Error('not wanted any more'));
    await clock.advanceAsync(100);
    await last;

    expect(served).toEqual(['a', 'e']);
    for (const result of await aborted)
      expect(result).toMatchObject({ reason: { message: 'not wanted any more' } });
  });

  test('leaves no timer when all gave up', async () => {
    const { clock, ask } = setUp(10, 1);
    const gone = new AbortController();
    await ask('a');
    const aborted = ask('b', gone.signal);

    gone.abort(new Error('gone'));

    await expect(aborted).rejects.toThrow('gone');
    expect(clock.pendingTimers).toBe(0);
  });

  test('is not asked for by one that was aborted before', async () => {
    const { served, ask } = setUp(10, 1);

    await expect(ask('a', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    await ask('b');

    expect(served).toEqual(['b']);
  });

  test.each([
    [0, 1],
    [10, 0],
    [Number.NaN, 1],
  ])('of %d a second with bursts of %d is refused', (qps, burst) => {
    expect(() => rateLimit({ clock: new FakeClock(), qps, burst })).toThrow(RangeError);
  });
});
