import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { runTaskGroup } from '../../../../src/kube/util/task-group.ts';
import { hang } from '../../../support/kube/fake-leases.ts';
import { deferred } from '../../../support/time/deferred.ts';

describe('together', () => {
  test('resolves when all tasks have ended, and leaves no listener', async () => {
    const { signal } = new AbortController();
    const slow = deferred();
    const ended: string[] = [];
    const all = runTaskGroup(signal, [async () => ended.push('quick'), () => slow.promise]).then(() =>
      ended.push('all'),
    );
    await Promise.resolve();
    expect(ended).toEqual(['quick']);
    slow.resolve();
    await all;
    expect(ended).toEqual(['quick', 'all']);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('aborts its tasks with the outer signal', async () => {
    const outer = new AbortController();
    const all = runTaskGroup(outer.signal, [hang, (signal) => hang(signal).catch(() => undefined)]);
    outer.abort(new Error('stop'));
    await expect(all).rejects.toThrow('stop');
  });

  test('aborts all tasks when one fails, and rejects with that failure after the others have ended', async () => {
    const slow = deferred();
    let outcome: unknown;
    const all = runTaskGroup(new AbortController().signal, [
      async () => {
        throw new Error('first');
      },
      async (signal) => {
        await hang(signal).catch(() => undefined);
        await slow.promise;
        throw new Error('second');
      },
    ]).catch((error: Error) => {
      outcome = error.message;
    });
    await new Promise(setImmediate);
    expect(outcome).toBeUndefined();
    slow.resolve();
    await all;
    expect(outcome).toBe('first');
  });
});
