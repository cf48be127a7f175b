import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { withProgress } from '../../env/control-plane/progress.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** Collects what is written, and leaves the work to be ended by hand. */
function start(isTTY: boolean) {
  const written: string[] = [];
  let end: { done: () => void; fail: (err: Error) => void } | undefined;
  let detail = (_: string) => {};
  const working = withProgress({ isTTY, write: (text) => written.push(text) }, 'building', (say) => {
    detail = say;
    return new Promise<void>((done, fail) => {
      end = { done, fail };
    });
  });
  return {
    written,
    working,
    say: (text: string) => detail(text),
    done: () => end?.done(),
    fail: (err: Error) => end?.fail(err),
  };
}

describe('progress in a log', () => {
  test('has a line at once, each 30 s, and at the end', async () => {
    const { written, working, say, done } = start(false);
    expect(written).toEqual(['building\n']);
    jest.advanceTimersByTime(29_999);
    expect(written).toHaveLength(1);
    jest.advanceTimersByTime(1);
    say('go: downloading k8s.io/api');
    jest.advanceTimersByTime(60_000);
    done();
    await working;
    expect(written).toEqual([
      'building\n',
      'building: 30 s\n',
      'building: 60 s (go: downloading k8s.io/api)\n',
      // The download is over: nothing is said of it again.
      'building: 90 s\n',
      'building: done in 90 s\n',
    ]);
  });

  test('ends with the work, also where that fails', async () => {
    const { written, working, fail } = start(false);
    fail(new Error('no disk'));
    await expect(working).rejects.toThrow('no disk');
    expect(written.at(-1)).toBe('building: failed after 0 s\n');
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('progress on a terminal', () => {
  test('is one line, written anew each second, and no longer than the terminal', async () => {
    const { written, working, say, done } = start(true);
    say('x'.repeat(200));
    jest.advanceTimersByTime(2_000);
    done();
    await working;
    expect(written.slice(0, 2)).toEqual([
      '\r\x1b[Kbuilding',
      expect.stringContaining('\r\x1b[Kbuilding: 1 s (xxxxx'),
    ]);
    expect(written[1]?.length).toBeLessThan(90);
    expect(written.slice(-2)).toEqual(['\r\x1b[Kbuilding: done in 2 s', '\n']);
    expect(written.slice(0, -1).join('')).not.toContain('\n');
  });
});
