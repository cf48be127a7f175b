import { expect, test } from '@jest/globals';
import { runBatch } from '../../../../src/networks/agent/programs.ts';

const parts = [
  { bridge: 'a', lines: ['link add a', 'link set a up'] },
  { bridge: 'b', lines: ['link add b'] },
  { bridge: 'c', lines: ['link add c'] },
];
// What `ip -force -batch -` of iproute2 6.1 prints.
const failed = (stderr: string) => async () => {
  throw new Error(`ip -force -batch - ended with 1: ${stderr}`);
};

test('runBatch runs all lines in one call', async () => {
  const calls: unknown[] = [];
  const programs = async (...call: unknown[]) => {
    calls.push(call);
    return '';
  };
  expect(await runBatch(programs, 'ip', parts)).toEqual(new Map());
  expect(await runBatch(programs, 'bridge', [{ bridge: 'a', lines: [] }])).toEqual(new Map());
  const input = 'link add a\nlink set a up\nlink add b\nlink add c\n';
  expect(calls).toEqual([['ip', ['-force', '-batch', '-'], input]]);
});

test('runBatch tells the first failure of each bridge', async () => {
  const stderr =
    'RTNETLINK answers: File exists\nCommand failed -:1\nCannot find device "a"\nCommand failed -:2\nError: Unknown device type.\nCommand failed -:4';
  expect(await runBatch(failed(stderr), 'ip', parts)).toEqual(
    new Map([
      ['a', 'ip link add a: RTNETLINK answers: File exists'],
      ['c', 'ip link add c: Error: Unknown device type.'],
    ]),
  );
});
