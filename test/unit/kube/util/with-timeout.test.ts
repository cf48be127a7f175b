import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';

import { withTimeout } from '../../../../src/kube/util/with-timeout.ts';
import { hang } from '../../../support/kube/fake-leases.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

describe('a bounded call', () => {
  test('is aborted when its time is up', async () => {
    const clock = new FakeClock();
    const call = withTimeout(clock, 100, undefined, hang);

    clock.advance(100);

    await expect(call).rejects.toMatchObject({ name: 'TransportError', code: 'ETIMEDOUT' });
  });

  test('is aborted with its outer signal, with the same reason', async () => {
    const outer = new AbortController();
    const call = withTimeout(new FakeClock(), 100, outer.signal, hang);

    outer.abort(new Error('cancelled'));

    await expect(call).rejects.toThrow('cancelled');
  });

  test('rejects with an error that names the call, whatever the call throws', async () => {
    const clock = new FakeClock();
    const endsOtherwise = (signal: AbortSignal) =>
      hang(signal).catch(() => Promise.reject(new Error('aborted')));
    const call = withTimeout(clock, 100, undefined, endsOtherwise, 'GET /');
    const failed = call.catch((error: Error) => error.message);

    clock.advance(100);

    expect(await failed).toBe('GET /: not done within 100 ms');
  });

  test('rejects without waiting for a call that ignores its signal', async () => {
    const clock = new FakeClock();
    const call = withTimeout(clock, 100, undefined, () => new Promise<never>(() => undefined));

    clock.advance(100);

    await expect(call).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  test('is not made under an aborted signal', async () => {
    let called = false;
    const call = withTimeout(new FakeClock(), 100, AbortSignal.abort(new Error('gone')), async () => {
      called = true;
    });

    await expect(call).rejects.toThrow('gone');
    expect(called).toBe(false);
  });

  test.each([
    ['succeeded', () => Promise.resolve()],
    ['failed', () => Promise.reject(new Error('no'))],
  ])('that %s leaves no timer and no listener', async (_, call) => {
    const clock = new FakeClock();
    const { signal } = new AbortController();

    await Promise.allSettled([withTimeout(clock, 100, signal, call)]);

    expect(clock.pendingTimers).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
