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

test('writes the lines that are logged during a write', () => {
  const log = createLogger('info');
  log.info('first');
  jest.advanceTimersByTime(1_000);
  log.info('second');
  jest.advanceTimersByTime(1_000);
  endWrite();
  jest.advanceTimersByTime(1_000);
  endWrite();
  expect(written.join('').match(/first|second/g)).toEqual(['first', 'second']);
});
