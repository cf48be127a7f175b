import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Supervisor, startSupervisor } from '../../env/control-plane/supervisor.ts';
import { isRunning, untilNoneRuns } from '../../support/operator/is-running.ts';

let supervisor: Supervisor;
beforeEach(async () => {
  supervisor = await startSupervisor();
});
afterEach(async () => {
  await supervisor.stop();
});

/** Runs a shell script; resolves with what it prints first, once it has. */
async function startScript(name: string, script: string, stopTimeoutMs = 10_000) {
  const lines: string[] = [];
  let onFirstLine = () => {};
  const firstLine = new Promise<void>((resolve) => {
    onFirstLine = resolve;
  });
  const onLine = (line: string) => {
    lines.push(line);
    onFirstLine();
  };
  const args = ['-c', script];
  const process = await supervisor.start({ name, command: 'sh', args, output: { onLine }, stopTimeoutMs });
  await Promise.race([firstLine, process.exited]);
  return { process, lines };
}

describe('stopping', () => {
  test('ends the processes one after another, the last one first, and kills what ignores SIGTERM', async () => {
    const order: string[] = [];
    const start = async (name: string, script: string, stopTimeoutMs?: number) => {
      const { process } = await startScript(name, script, stopTimeoutMs);
      void process.exited.then(({ signal }) => order.push(`${name} ${signal}`));
    };
    await start('a', 'echo ready; exec sleep 1000');
    await start('deaf', 'trap "" TERM; echo ready; while :; do sleep 0.01; done', 50);
    await start('c', 'echo ready; exec sleep 1000');
    await supervisor.stop();
    expect(order).toEqual(['c SIGTERM', 'deaf SIGKILL', 'a SIGTERM']);
  });
});

describe('when the supervisor itself is killed', () => {
  test('its processes end, and are told to have', async () => {
    const directory = await supervisor.makeDirectory(join(tmpdir(), 'supervisor-test-'));
    const { process: held } = await startScript('held', 'echo ready; exec sleep 1000');
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    await expect(held.exited).resolves.toEqual({ code: null, signal: 'SIGKILL' });
    expect(existsSync(directory)).toBe(false);
  });
});

describe('when the program ends', () => {
  const script = fileURLToPath(import.meta.resolve('../../support/operator/supervised-parent.js'));

  test.each(['SIGKILL', 'SIGINT'] as const)('by %s, nothing is left', async (signal) => {
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [line] = await once(createInterface({ input: parent.stdout }), 'line');
    const { pids, directory } = JSON.parse(line) as { pids: number[]; directory: string };
    expect(pids.map(isRunning)).toEqual([true, true, true]);
    expect(existsSync(directory)).toBe(true);
    // The supervisor shares the program's stderr: it closes when the last of the two has ended.
    const closed = once(parent, 'close');
    parent.kill(signal);
    await closed;
    await untilNoneRuns(pids);
    expect(existsSync(directory)).toBe(false);
  });
});
