import { expect, jest, test } from '@jest/globals';
import { processTerminal } from '../../../../src/cli/io/terminal.ts';

test('messages with names of a manifest give the terminal no commands', () => {
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  processTerminal.err('pod/\u001b[2J\r\u009bp: injected\n\tü\n');
  expect(write.mock.calls).toEqual([['pod/\uFFFD[2J\uFFFD\uFFFDp: injected\n\tü\n']]);
  write.mockRestore();
});
