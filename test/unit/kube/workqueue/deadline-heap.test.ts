import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DeadlineHeap } from '../../../../src/kube/workqueue/deadline-heap.ts';

/** All keys due by `now`, in the order of the heap. */
function takeAllDue(heap: DeadlineHeap<string>, now: number): string[] {
  const keys: string[] = [];
  for (let key = heap.takeDue(now); key !== undefined; key = heap.takeDue(now)) keys.push(key);
  return keys;
}

test('returns keys by their earliest deadline, ties in order of arrival, and none before its deadline', () => {
  const puts = fc.array(fc.tuple(fc.constantFrom(...'abcdefghijklmnop'), fc.nat({ max: 20 })));
  fc.assert(
    fc.property(puts, fc.nat({ max: 20 }), (entries, now) => {
      const heap = new DeadlineHeap<string>();
      const earliest = new Map<string, number>();
      for (const [key, deadline] of entries) {
        heap.put(key, deadline);
        earliest.set(key, Math.min(deadline, earliest.get(key) ?? deadline));
      }
      const inOrder = [...earliest].sort(([, a], [, b]) => a - b);
      expect(takeAllDue(heap, now)).toEqual(inOrder.filter(([, due]) => due <= now).map(([key]) => key));
      expect(heap.next).toBe(inOrder.find(([, due]) => due > now)?.[1]);
      expect(takeAllDue(heap, 20)).toEqual(inOrder.filter(([, due]) => due > now).map(([key]) => key));
    }),
  );
});

test('put returns whether the earliest deadline has changed', () => {
  const heap = new DeadlineHeap<string>();
  expect(heap.put('a', 20)).toBe(true);
  expect(heap.put('b', 30)).toBe(false);
  expect(heap.put('b', 10)).toBe(true);
  expect(heap.put('b', 15)).toBe(false);
});

test('is empty once cleared, and accepts the same keys again', () => {
  const heap = new DeadlineHeap<string>();
  heap.put('a', 10);
  heap.clear();
  expect(heap.next).toBeUndefined();
  expect(heap.put('a', 20)).toBe(true);
  expect(takeAllDue(heap, 20)).toEqual(['a']);
});
