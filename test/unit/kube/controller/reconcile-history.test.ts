import { expect, test } from '@jest/globals';
import { ReconcileHistory } from '../../../../src/kube/controller/reconcile-history.ts';

const wallClock = () => Date.parse('2026-01-01T00:00:00Z');

test('attempts count up to the next success', () => {
  const history = new ReconcileHistory({ wallClock });
  const attempts = (['error', 'requeue', 'terminal', 'requeue_after', 'error'] as const).map(
    (result) => history.record('a', { result }).attempts,
  );
  expect(attempts).toEqual([1, 2, 3, 0, 1]);
  history.forget('a');
  expect(history.get('a')).toBeUndefined();
  expect(history.record('a', { result: 'error' }).attempts).toBe(1);
});

test('beyond the limit the object with the oldest attempt is dropped', () => {
  const history = new ReconcileHistory({ wallClock, limit: 2 });
  for (const key of ['a', 'b', 'a', 'c']) history.record(key, { result: 'error' });
  expect(history.list().map(({ key, attempts }) => [key, attempts])).toEqual([
    ['a', 2],
    ['c', 1],
  ]);
});

test('a long error message is cut', () => {
  const history = new ReconcileHistory({ wallClock });
  history.record('a', { result: 'error', error: new Error('x'.repeat(100_000)) });
  expect(history.get('a')?.error).toHaveLength(1024);
});

test.each([
  [1500, '2026-01-01T00:00:01.500Z'],
  [Number.POSITIVE_INFINITY, '+275760-09-13T00:00:00.000Z'],
])('a retry in %p ms is a time that can be written', (retryInMs, nextTryAt) => {
  const history = new ReconcileHistory({ wallClock });
  expect(history.record('a', { result: 'requeue_after', retryInMs }).nextTryAt).toBe(nextTryAt);
});
