import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Fifo } from '../../../../src/kube/workqueue/fifo.ts';

test('behaves like an array for any sequence of pushes and shifts', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat()), { maxLength: 200 }), (steps) => {
      const fifo = new Fifo<number>();
      const array: number[] = [];
      for (const step of steps) {
        if (step === null) expect(fifo.shift()).toBe(array.shift());
        else {
          fifo.push(step);
          array.push(step);
        }
        expect(fifo.length).toBe(array.length);
      }
    }),
  );
});

test('keeps the order of 100,000 items', () => {
  const fifo = new Fifo<number>();
  for (let i = 0; i < 100_000; i++) fifo.push(i);
  const items = Array.from({ length: 100_000 }, () => fifo.shift());
  expect(items).toEqual([...items.keys()]);
  expect(fifo.shift()).toBeUndefined();
});
