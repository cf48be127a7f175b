import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { type CallSignal, inTime, timeToAnswer } from '../../../../src/kube/admission/deadline.ts';

test.each([
  ['/inject?timeout=5s', 4500],
  ['/inject?timeout=1m0s', 9000],
  ['/inject?x=1&timeout=1.5s', 1350],
  ['/inject?timeout=500ms', 450],
  ['/inject', 9000],
  ['/inject?timeout=', 9000],
  ['/inject?timeout=0s', 9000],
  ['/inject?timeout=-5s', 9000],
  ['/inject?timeout=forever', 9000],
  ['/inject?timeout=5', 9000],
])(
  'a call of %s has %d ms: nine tenths of its timeout, which is at most ten seconds',
  (url, milliseconds) => {
    expect(timeToAnswer(url)).toBe(milliseconds);
  },
);

/** A call that runs until it is aborted, and its signal. */
function callWithoutEnd() {
  const response = Object.assign(new EventEmitter(), { destroyed: false });
  let signal: CallSignal = () => AbortSignal.abort();
  const answer = inTime(
    { url: '/', complete: true } as IncomingMessage,
    response as unknown as ServerResponse,
    (given) => {
      signal = given;
      return new Promise<never>(() => {});
    },
  );
  const hangUp = () => {
    response.destroyed = true;
    response.emit('close');
  };
  return { hangUp, answer, signal: () => signal() };
}

test.each([
  ['at once', async () => {}],
  ['after a while', () => setImmediate()],
])('a signal that is created after the caller hung up, %s, is aborted', async (_, whenever) => {
  const { hangUp, answer, signal } = callWithoutEnd();
  await whenever();
  hangUp();
  await expect(answer).rejects.toThrow('the client closed the connection');
  expect(signal().aborted).toBe(true);
});

test.each([
  ['is answered at once', async () => 'answer'],
  ['is answered after a while', () => setImmediate('answer')],
  ['fails at once', () => Promise.reject(new Error('broken'))],
  ['fails after a while', () => setImmediate().then(() => Promise.reject(new Error('broken')))],
])('a call that %s leaves no listener and no timer', async (_, work) => {
  const response = new EventEmitter();
  const before = waiting();
  await inTime({ url: '/' } as IncomingMessage, response as ServerResponse, work).catch(() => undefined);
  expect(response.listenerCount('close')).toBe(0);
  expect(waiting()).toBeLessThanOrEqual(before);
});

test('the time of a call counts from its arrival, however long that turn of the event loop takes', async () => {
  const setTimer = jest.spyOn(globalThis, 'setTimeout');
  const now = jest.spyOn(performance, 'now').mockReturnValueOnce(1000).mockReturnValueOnce(1700);
  try {
    const { hangUp, answer } = callWithoutEnd();
    await setImmediate();
    expect(setTimer.mock.lastCall?.[1]).toBe(8300);
    hangUp();
    await expect(answer).rejects.toThrow('the client closed the connection');
  } finally {
    now.mockRestore();
    setTimer.mockRestore();
  }
});

/** How many timers and immediates keep the process alive. */
function waiting(): number {
  const kinds = process.getActiveResourcesInfo();
  return kinds.filter((kind) => kind === 'Timeout' || kind === 'Immediate').length;
}
