import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { type CallSignal, inTime, timeToAnswer } from '../../../../src/kube/admission/deadline.ts';

test.each([
  ['/inject?timeout=5s', 4500],
  ['/inject?timeout=1m0s', 9000],
  ['/inject?x=1&timeout=500ms', 450],
  ['/inject', 9000],
  ['/inject?timeout=0s', 9000],
  ['/inject?timeout=-5s', 9000],
  ['/inject?timeout=5', 9000],
])('a call of %s has %d ms: nine tenths of its timeout, which is at most ten seconds', (url, expected) => {
  expect(timeToAnswer(url)).toBe(expected);
});

test('a signal that is created after the caller hung up is aborted', async () => {
  const response = new EventEmitter();
  let signal: CallSignal = () => AbortSignal.timeout(0);
  const answer = inTime({ url: '/' } as IncomingMessage, response as ServerResponse, (given) => {
    signal = given;
    return new Promise<never>(() => {});
  });
  response.emit('close');
  await expect(answer).rejects.toThrow('the client closed the connection');
  expect(signal().aborted).toBe(true);
});

test.each([
  ['is answered', async () => 'answer'],
  ['fails', () => setImmediate().then(() => Promise.reject(new Error('broken')))],
])('a call that %s leaves no listener and no timer', async (_, work) => {
  const response = new EventEmitter();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  await inTime({ url: '/' } as IncomingMessage, response as ServerResponse, work).catch(() => undefined);
  await setImmediate();
  expect(response.listenerCount('close')).toBe(0);
  expect(timers()).toBeLessThanOrEqual(before);
});
