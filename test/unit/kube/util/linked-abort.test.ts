import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { abortable, linkedAbort } from '../../../../src/kube/util/linked-abort.ts';
import { sleep } from '../../../../src/kube/util/sleep.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const never = new Promise<never>(() => undefined);
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('sleep', () => {
  test('ends after its delay, and leaves neither timer nor listener', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const slept = sleep(clock, 100, signal);
    clock.advance(99);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1);
    await slept;
    expect([clock.pendingTimers, listeners(signal)]).toEqual([0, 0]);
  });

  test('ends at once when the signal aborts, with its reason', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const slept = sleep(clock, 100, controller.signal);
    controller.abort(new Error('stop'));
    await expect(slept).rejects.toThrow('stop');
    expect([clock.pendingTimers, listeners(controller.signal)]).toEqual([0, 0]);
    await expect(sleep(clock, 100, controller.signal)).rejects.toThrow('stop');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a linked controller', () => {
  test('aborts with the outer signal, but not the other way round', () => {
    const outer = new AbortController();
    const first = linkedAbort(outer.signal);
    const second = linkedAbort(outer.signal);
    first.controller.abort(new Error('inner'));
    expect(outer.signal.aborted).toBe(false);
    outer.abort(new Error('outer'));
    expect(first.controller.signal.reason).toEqual(new Error('inner'));
    expect(second.controller.signal.reason).toEqual(new Error('outer'));
  });

  test('leaves nothing on the outer signal once unlinked', () => {
    const outer = new AbortController();
    const { controller, unlink } = linkedAbort(outer.signal);
    expect(listeners(outer.signal)).toBe(1);
    unlink();
    expect(listeners(outer.signal)).toBe(0);
    outer.abort();
    expect(controller.signal.aborted).toBe(false);
  });

  test('of an aborted signal is aborted', () => {
    expect(linkedAbort(AbortSignal.abort('gone')).controller.signal.reason).toBe('gone');
  });
});

describe('work that takes no signal', () => {
  test('is no longer waited for when the signal aborts', async () => {
    const controller = new AbortController();
    const waiting = abortable(never, controller.signal);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    await expect(abortable(never, controller.signal)).rejects.toThrow('stop');
  });

  test.each([
    ['result', Promise.resolve('done')],
    ['error', Promise.reject(new Error('broken'))],
  ])('settles with its %s, and leaves no listener', async (_, promise) => {
    const { signal } = new AbortController();
    const outcome = await abortable(promise, signal).catch((error: Error) => error.message);
    expect(outcome).toMatch(/^(done|broken)$/);
    await Promise.resolve();
    expect(listeners(signal)).toBe(0);
  });
});
