import fs from 'node:fs';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createLogger } from '../../../../src/kube/manager/logger.ts';

type Ended = (error: Error | null, bytes: number) => void;

let written: string[] = [];
/** Ends the write that is under way. */
let endWrite: () => void = () => {};

beforeEach(() => {
  jest.useFakeTimers();
  written = [];
  jest.spyOn(fs, 'write').mockImplementation((...args: readonly unknown[]) => {
    const text = String(args[1]);
    const ended = args.at(-1) as Ended;
    endWrite = () => {
      written.push(text);
      ended(null, Buffer.byteLength(text));
    };
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

test('writes nothing while nothing is logged', () => {
  const { log } = createLogger('info');
  log.info('a line');
  for (let second = 0; second < 10; second += 1) {
    jest.advanceTimersByTime(1_000);
    endWrite();
    endWrite = () => {};
  }
  const calls = jest.mocked(fs.write).mock.calls.length;
  expect(calls).toBeLessThanOrEqual(2);
  jest.advanceTimersByTime(60_000);
  expect(fs.write).toHaveBeenCalledTimes(calls);
  expect(written.join('')).toContain('a line');
});

test('writes the lines that are logged during a write', () => {
  const { log } = createLogger('info');
  log.info('first');
  jest.advanceTimersByTime(1_000);
  log.info('second');
  jest.advanceTimersByTime(1_000);
  endWrite();
  endWrite();
  expect(written.join('').match(/first|second/g)).toEqual(['first', 'second']);
});
