import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { withProgress } from '../../env/control-plane/progress.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test.each([
  [false, 30_000, ['building\n', 'building: 30 s (downloading)\n', 'building: done in 30 s\n']],
  [true, 1_000, ['building', 'building: 1 s (downloading)', 'building: done in 1 s', '\n']],
])('progress on a terminal: %j', async (isTTY, wait, lines) => {
  const written: string[] = [];
  const done = withProgress({ isTTY, write: (text) => written.push(text) }, 'building', async (say) => {
    say('downloading');
    jest.advanceTimersByTime(wait);
  });
  await done;
  // A terminal's line is erased and written anew.
  expect(written).toEqual(lines.map((line) => (isTTY && line !== '\n' ? `\r\x1b[K${line}` : line)));
});
