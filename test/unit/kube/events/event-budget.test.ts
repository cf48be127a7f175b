import { describe, expect, test } from '@jest/globals';

import { EventBudget } from '../../../../src/kube/events/event-budget.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

function take(budget: EventBudget, times: number, object = 'a'): number {
  return Array.from({ length: times }, () => budget.tryTake(object)).filter(Boolean).length;
}

// client-go: TestEventSpamFilter.
describe('the budget of an object', () => {
  test('is 25 Events at once', () => {
    expect(take(new EventBudget(new FakeClock()), 100)).toBe(25);
  });

  test('gets one more every 5 minutes', () => {
    const clock = new FakeClock();
    const budget = new EventBudget(clock);
    take(budget, 25);

    clock.advance(299_999);
    expect(take(budget, 2)).toBe(0);
    clock.advance(1);
    expect(take(budget, 2)).toBe(1);
    clock.advance(600_000);
    expect(take(budget, 3)).toBe(2);
  });

  test('is never more than 25, even after a long quiet time', () => {
    const clock = new FakeClock();
    const budget = new EventBudget(clock);
    take(budget, 1);
    clock.advance(1e9);

    expect(take(budget, 100)).toBe(25);
  });

  test('is separate for each object', () => {
    const budget = new EventBudget(new FakeClock());
    take(budget, 25, 'a');

    expect(take(budget, 1, 'b')).toBe(1);
  });
});
