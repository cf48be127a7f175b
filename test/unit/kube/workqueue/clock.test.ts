import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { maxTimerMs, systemClock } from '../../../../src/kube/workqueue/clock.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

describe('the system clock', () => {
  test('fires its timers, but not cancelled ones, and does not fire at once those too long for Node', async () => {
    const fired: string[] = [];
    const tooLong = systemClock.setTimer(maxTimerMs + 1, () => fired.push('too long'));
    systemClock.setTimer(1, () => fired.push('cancelled')).cancel();
    await new Promise<void>((resolve) => systemClock.setTimer(5, resolve));
    tooLong.cancel();
    expect(fired).toEqual([]);
  });

  test('fires a timer with a negative delay soon, without a warning of Node', async () => {
    const clock = pathToFileURL(join(projectDirectory(), 'build/src/kube/workqueue/clock.js'));
    const script = `
      const { systemClock } = await import('${clock}');
      systemClock.setTimer(-5, () => console.log('fired'));
      console.log('set');`;
    const said = await runCommand(process.execPath, ['--input-type=module', '--eval', script], {}, '');
    expect(said).toEqual({ stdout: 'set\nfired\n', stderr: '', code: 0 });
  });

  test('never goes back', () => {
    const earlier = systemClock.now();
    expect(systemClock.now()).toBeGreaterThanOrEqual(earlier);
  });
});

describe('the fake clock', () => {
  test('fires timers in the order of their deadlines, each at its own moment, also those that timers set', () => {
    const clock = new FakeClock();
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.now()]);
    clock.setTimer(30, note('late'));
    clock.setTimer(10, () => clock.setTimer(10, note('nested')));
    clock.setTimer(15, note('early'));
    clock.setTimer(12, note('cancelled')).cancel();
    clock.advance(29);
    expect(fired).toEqual([
      ['early', 15],
      ['nested', 20],
    ]);
    expect([clock.now(), clock.pendingTimers]).toEqual([29, 1]);
    clock.advance(1);
    expect(fired.at(-1)).toEqual(['late', 30]);
  });

  test('advanceAsync runs promises between timers', async () => {
    const clock = new FakeClock();
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(ms, resolve));
    const awake: number[] = [];
    const sleeper = (async () => {
      for (let nap = 0; nap < 3; nap++) {
        await sleep(10);
        awake.push(clock.now());
      }
    })();
    await clock.advanceAsync(30);
    expect(awake).toEqual([10, 20, 30]);
    await sleeper;
  });
});
