import { beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { rateLimitedSingleflight } from '../../../../src/kube/util/rate-limited-singleflight.ts';
import { SharedValues } from '../../../../src/kube/util/shared-values.ts';
import { Slices } from '../../../../src/kube/util/slices.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

let clock: FakeClock;
/** Keys in the order of the requests. */
let sent: string[];
/** The state in the API server. */
let state: string;
let lookUp: (key: string, signal: AbortSignal) => Promise<string>;

beforeEach(() => {
  clock = new FakeClock();
  sent = [];
  state = 'first';
  lookUp = rateLimitedSingleflight(clock, { ratePerSecond: 1, burst: 3 }, async (key) => {
    sent.push(key);
    if (state === 'none') throw new Error('not found');
    return `${key}: ${state}`;
  });
});

const forever = new AbortController().signal;

test('look-ups share one request among the callers that came before it was sent', async () => {
  const answers = Promise.all([1, 2, 3, 4, 5].map(() => lookUp('a', forever)));
  await clock.advanceAsync(0);
  expect(await answers).toEqual(Array(5).fill('a: first'));
  expect(sent).toEqual(['a']);
});

test('look-ups never return an answer that is older than the question', async () => {
  const before = lookUp('a', forever);
  await clock.advanceAsync(0);
  state = 'second';
  const after = [lookUp('a', forever), lookUp('a', forever)];
  await clock.advanceAsync(249);
  expect(sent).toEqual(['a']);
  await clock.advanceAsync(1);
  expect(await Promise.all([before, ...after])).toEqual(['a: first', 'a: second', 'a: second']);
  expect(sent).toEqual(['a', 'a']);
});

test('look-ups beyond the burst and the rate are refused with 503', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const outcomes = Promise.allSettled(keys.map((key) => lookUp(key, forever)));
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
  const later = lookUp('f', forever);
  await clock.advanceAsync(0);
  expect(await later).toBe('f: first');
  await expect(lookUp('g', forever)).rejects.toMatchObject({ status: 503 });
});

test('look-ups continue for the other callers when one caller aborts', async () => {
  const gone = new AbortController();
  const given = expect(lookUp('a', gone.signal)).rejects.toThrow('hung up');
  const stays = lookUp('a', forever);
  gone.abort(new Error('hung up'));
  await given;
  await clock.advanceAsync(0);
  expect(await stays).toBe('a: first');
});

const LABELS = { app: 'shop', tier: 'web' };

test('SharedValues keep any JSON equal, and do not change it', () => {
  const shared = new SharedValues();
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      // JSON has no -0.
      expect(JSON.stringify(shared.within(value))).toBe(text);
      expect(JSON.stringify(value)).toBe(text);
    }),
  );
});

test('SharedValues keep a value that stays in use while others come and go, and forget unused ones', () => {
  const shared = new SharedValues();
  const [used, unused] = [shared.of({ ...LABELS }), shared.of({ old: 'labels' })];
  for (let nth = 0; nth < 40; nth++) {
    shared.of({ nth, text: 'x'.repeat(100_000) });
    expect(shared.of({ ...LABELS })).toBe(used);
  }
  expect(shared.of({ old: 'labels' })).not.toBe(unused);
});

test('SharedValues give a huge value no place of others, and do not keep it', () => {
  const shared = new SharedValues();
  const first = shared.of({ ...LABELS });
  const huge = () => ({ text: 'x'.repeat(1_000_000) });
  const kept = [huge(), huge(), huge()].map((value) => shared.of(value));
  expect(new Set(kept).size).toBe(3);
  expect(shared.of({ ...LABELS })).toBe(first);
});

/** Work of so many milliseconds, which writes down who did it. */
function* work(
  owner: string,
  ms: number,
  clock: FakeClock,
  done: string[],
): Generator<void, string, undefined> {
  for (let spent = 0; spent < ms; spent += 1) {
    done.push(owner);
    clock.advance(1);
    yield;
  }
  return owner;
}

test('Slices stop work after 4 ms for 12, and owners take turns', async () => {
  const clock = new FakeClock();
  const [slices, done] = [new Slices(clock), [] as string[]];
  const all = Promise.all([
    slices.run('a', work('a', 8, clock, done)),
    slices.run('a', work('A', 2, clock, done)),
    slices.run('b', work('b', 5, clock, done)),
  ]);
  expect(done.join('')).toBe('aaaa');
  await clock.advanceAsync(11);
  expect(done.join('')).toBe('aaaa');
  await clock.advanceAsync(1);
  expect(done.join('')).toBe('aaaabbbb');
  for (let left = 10; left > 0; left -= 1) await clock.advanceAsync(20);
  expect(done.join('')).toBe('aaaabbbbaaaabAA');
  expect(await all).toEqual(['a', 'A', 'b']);
});

test('Slices reject work that throws, and the rest goes on', async () => {
  const slices = new Slices(new FakeClock());
  const failing = (function* (): Generator<void, void, undefined> {
    yield;
    throw new Error('no');
  })();
  const [first, second] = [slices.run('a', failing), slices.run('a', [1][Symbol.iterator]())];
  await expect(first).rejects.toThrow('no');
  await expect(second).resolves.toBeUndefined();
});
