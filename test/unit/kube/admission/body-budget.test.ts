import { beforeEach, describe, expect, test } from '@jest/globals';
import { BodyBudget } from '../../../../src/kube/admission/body-budget.ts';

const MIB = 2 ** 20;
let now: number;
let budget: BodyBudget;
let gone: string[];

beforeEach(() => {
  now = 0;
  gone = [];
  budget = new BodyBudget(() => now);
});

/** A body that requests these bytes: whether it gets them, and its end. */
function arrive(name: string, bytes: number) {
  const body = budget.arrive(() => gone.push(name));
  const grow = (total: number) => budget.hold(body, total);
  return { has: grow(bytes), grow, end: () => budget.release(body) };
}

describe('the budget of bodies', () => {
  test('has room for 16 MiB of large bodies, and again after they have ended', () => {
    const first = arrive('first', 7 * MIB);
    expect([first.has, arrive('second', 7 * MIB).has, arrive('third', 3 * MIB).has]).toEqual([
      true,
      true,
      false,
    ]);
    first.end();
    first.end();
    expect([arrive('fourth', 7 * MIB).has, arrive('fifth', 3 * MIB).has]).toEqual([true, false]);
    expect(gone).toEqual([]);
  });

  test('has room for small bodies, whatever the large ones hold', () => {
    while (arrive('large', 7 * MIB).has);
    const small = Array.from({ length: 33 }, () => arrive('small', MIB / 4).has);
    expect(small.filter(Boolean)).toHaveLength(32);
    expect(gone).toEqual([]);
  });

  test('takes the room of bodies slower than a second, the oldest first, and no more than needed', () => {
    const slow = arrive('slow', 7 * MIB);
    now = 1;
    arrive('next', 7 * MIB);
    now = 1000;
    expect(arrive('honest', 7 * MIB).has).toBe(true);
    expect(gone).toEqual(['slow']);
    slow.end();
    expect(arrive('another', 7 * MIB).has).toBe(false);
    now = 1001;
    expect(arrive('another', 7 * MIB).has).toBe(true);
    expect(gone).toEqual(['slow', 'next']);
  });

  test('counts a growing body once, and does not take its room from it', () => {
    const growing = arrive('growing', MIB / 8);
    now = 2000;
    for (const mebibytes of [0.25, 0.5, 1, 2, 4, 7]) expect(growing.grow(mebibytes * MIB)).toBe(true);
    expect(arrive('second', 9 * MIB).has).toBe(true);
    expect(gone).toEqual([]);
    expect(Array.from({ length: 33 }, () => arrive('small', MIB / 4).has).indexOf(false)).toBe(32);
  });

  test('allows work on 8 MiB of bodies at once, and again when they are done', async () => {
    let done = () => {};
    const first = budget.work(7 * MIB, () => new Promise<void>((resolve) => (done = resolve)));
    const other = () => budget.work(MIB + 1, async () => 'done');
    await expect(other()).rejects.toMatchObject({ status: 503, refusal: 'no_room' });
    done();
    await first;
    expect(await other()).toBe('done');
  });
});
