import { expect, test } from '@jest/globals';
import { startSupervisor } from '../../env/control-plane/supervisor.ts';
import { isRunning, untilNoneRuns } from '../../support/operator/is-running.ts';

// A process id of another process namespace is that of somebody else's process here.
test('a supervisor in another process namespace kills nothing by the ids that it told before it was killed', async () => {
  const supervisor = await startSupervisor((commandLine) => commandLine);
  const sleep = await supervisor.start({ name: 'sleep', command: 'sleep', args: ['600'] });
  try {
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    await sleep.exited;
    expect(isRunning(sleep.pid)).toBe(true);
  } finally {
    process.kill(sleep.pid, 'SIGKILL');
    await untilNoneRuns([sleep.pid]);
  }
});
