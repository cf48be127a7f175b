import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';

/** In a process of its own, where nothing else allocates: after which ticks the heap was collected. */
async function collections(allocatedMb: readonly number[], keptMb = 0): Promise<readonly string[]> {
  const module = join(projectDirectory(), 'build/src/kube/manager/heap.js');
  const script = `
    import { limitHeapGrowth } from ${JSON.stringify(module)};
    let fire = () => undefined;
    let tick = 0;
    const ticks = [];
    const clock = { now: () => 0, setTimer(_, next) { fire = next; return { cancel() {} }; } };
    const allocate = (mb) => Array.from({ length: mb }, () => new Array(2 ** 17).fill(0.5));
    const kept = allocate(${keptMb});
    limitHeapGrowth(clock, ({ type, flavor }) => ticks.push([tick, type, flavor].join()));
    for (const mb of ${JSON.stringify(allocatedMb)}) {
      tick += 1;
      allocate(mb);
      fire();
    }
    console.log(JSON.stringify(ticks), kept.length);
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout, stderr } = await runCommand(process.execPath, args, { PATH: process.env.PATH ?? '' }, '');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout.replace(/ \d+$/m, ''));
}

test('the heap is collected when the process is idle for the first time', async () => {
  expect(await collections([8, 8, 0, 0, 8, 0])).toEqual(['3,major,last-resort']);
});

test('it is collected again when the process is idle after it has allocated 1 GB', async () => {
  const half = new Array(12).fill(50);
  const both = ['1,major,last-resort', '27,major,last-resort'];
  expect(await collections([0, ...half, 0, ...half, 0, 0])).toEqual(both);
});

test('a process that is never idle is not interrupted', async () => {
  expect(await collections([8, 8, 8])).toEqual([]);
});

test('a process with a larger heap may allocate more, and is idle', async () => {
  expect(await collections([8, 20], 120)).toEqual(['1,major,last-resort']);
});

test('a heap is not collected whose collection takes long', async () => {
  expect(await collections([0, 0], 220)).toEqual([]);
});
