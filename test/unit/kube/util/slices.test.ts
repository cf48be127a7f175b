import { expect, test } from '@jest/globals';
import { Slices } from '../../../../src/kube/util/slices.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

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

test('work stops after 4 ms for 12, and owners take turns', async () => {
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

test('work that throws rejects, and the rest goes on', async () => {
  const slices = new Slices(new FakeClock());
  const failing = (function* (): Generator<void, void, undefined> {
    yield;
    throw new Error('no');
  })();
  const [first, second] = [slices.run('a', failing), slices.run('a', [1][Symbol.iterator]())];
  await expect(first).rejects.toThrow('no');
  await expect(second).resolves.toBeUndefined();
});
