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

test.each([
  ['address add 10.0.0.1/24 dev a', 'Error: ipv4: Address already assigned.'],
  ['address add fd00::1/64 dev a nodad', 'Error: ipv6: address already assigned.'],
  ['address delete 10.0.0.1/24 dev a', 'Error: ipv4: Address not found.'],
  ['address delete fd00::1/64 dev a', 'RTNETLINK answers: Cannot assign requested address'],
])('runBatch takes %s as done if it is: %s', async (line, why) => {
  const stderr = `${why}\nCommand failed -:1`;
  expect(await runBatch(failed(stderr), 'ip', [{ bridge: 'a', lines: [line] }])).toEqual(new Map());
});
