import { beforeEach, describe, expect, test } from '@jest/globals';
import { RateLimitedSingleflight } from '../../../../src/kube/util/rate-limited-singleflight.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

let clock: FakeClock;
/** Keys in the order of the requests. */
let sent: string[];
/** The state in the API server. */
let state: string;
let lookUps: RateLimitedSingleflight<string>;

beforeEach(() => {
  clock = new FakeClock();
  sent = [];
  state = 'first';
  lookUps = new RateLimitedSingleflight({
    clock,
    perSecond: 1,
    burst: 3,
    async ask(key) {
      sent.push(key);
      if (state === 'none') throw new Error('not found');
      return `${key}: ${state}`;
    },
  });
});

const forever = new AbortController().signal;

describe('look-ups', () => {
  test('share one request among the callers that came before it was sent', async () => {
    const answers = Promise.all([1, 2, 3, 4, 5].map(() => lookUps.get('a', forever)));
    await clock.advanceAsync(0);
    expect(await answers).toEqual(Array(5).fill('a: first'));
    expect(sent).toEqual(['a']);
  });

  test('never return an answer that is older than the question', async () => {
    const before = lookUps.get('a', forever);
    await clock.advanceAsync(0);
    state = 'second';
    const after = [lookUps.get('a', forever), lookUps.get('a', forever)];
    await clock.advanceAsync(249);
    expect(sent).toEqual(['a']);
    await clock.advanceAsync(1);
    expect(await Promise.all([before, ...after])).toEqual(['a: first', 'a: second', 'a: second']);
    expect(sent).toEqual(['a', 'a']);
  });

  test('beyond the burst and the rate are refused with 503', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const outcomes = Promise.allSettled(keys.map((key) => lookUps.get(key, forever)));
    await clock.advanceAsync(0);
    expect(await outcomes).toMatchObject([
      { value: 'a: first' },
      { value: 'b: first' },
      { value: 'c: first' },
      { reason: { status: 503, refusal: 'too_many_lookups' } },
      { reason: { status: 503, refusal: 'too_many_lookups' } },
    ]);
    expect(sent).toEqual(['a', 'b', 'c']);
    clock.advance(1000);
    const later = lookUps.get('f', forever);
    await clock.advanceAsync(0);
    expect(await later).toBe('f: first');
    await expect(lookUps.get('g', forever)).rejects.toMatchObject({ status: 503 });
  });

  test('continue for the other callers when one caller aborts', async () => {
    const gone = new AbortController();
    const given = expect(lookUps.get('a', gone.signal)).rejects.toThrow('hung up');
    const stays = lookUps.get('a', forever);
    gone.abort(new Error('hung up'));
    await given;
    await clock.advanceAsync(0);
    expect(await stays).toBe('a: first');
  });
});
