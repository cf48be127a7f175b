import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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
async function startScript(name: string, script: string, stopTimeoutMs?: number) {
  const lines: string[] = [];
  let onFirstLine = () => {};
  const firstLine = new Promise<void>((resolve) => {
    onFirstLine = resolve;
  });
  const process = await supervisor.start({
    name,
    command: 'sh',
    args: ['-c', script],
    output: {
      onLine: (line) => {
        lines.push(line);
        onFirstLine();
      },
    },
    ...(stopTimeoutMs === undefined ? {} : { stopTimeoutMs }),
  });
  await Promise.race([firstLine, process.exited]);
  return { process, lines };
}

describe('a supervised process', () => {
  test.each([
    ['exit 0', { code: 0, signal: null }],
    ['exit 7', { code: 7, signal: null }],
    ['kill -9 $$', { code: null, signal: 'SIGKILL' }],
  ])('that runs `%s` reports how it ended', async (script, status) => {
    const { process } = await startScript('script', script);
    await expect(process.exited).resolves.toEqual(status);
  });

  test('relays every line of stdout and stderr before its end is told', async () => {
    const { process, lines } = await startScript('script', 'echo one; echo two >&2; printf three');
    await process.exited;
    expect(lines.toSorted()).toEqual(['one', 'three', 'two']);
  });

  test('appends its output to a file', async () => {
    const directory = await supervisor.makeDirectory(join(tmpdir(), 'supervisor-test-'));
    const file = join(directory, 'log');
    writeFileSync(file, 'before\n');
    const args = ['-c', 'echo out; echo err >&2'];
    const process = await supervisor.start({ name: 'script', command: 'sh', args, output: { file } });
    await process.exited;
    expect(readFileSync(file, 'utf8')).toBe('before\nout\nerr\n');
  });

  test('has the environment and the directory that it is given, and nothing on its stdin', async () => {
    const lines: string[] = [];
    const process = await supervisor.start({
      name: 'script',
      command: '/bin/sh',
      args: ['-c', 'echo $A $HOME; pwd; cat'],
      env: { A: 'a' },
      cwd: '/',
      output: { onLine: (line) => lines.push(line) },
    });
    await expect(process.exited).resolves.toEqual({ code: 0, signal: null });
    expect(lines).toEqual(['a', '/']);
  });

  test('gets the signals that it is sent, until it has ended', async () => {
    const { process, lines } = await startScript(
      'script',
      'trap "echo got it; exit 3" USR1; echo ready; while :; do sleep 0.01; done',
    );
    process.kill('SIGUSR1');
    await expect(process.exited).resolves.toEqual({ code: 3, signal: null });
    expect(lines).toEqual(['ready', 'got it']);
    const { process: next } = await startScript('script', 'echo ready; exec sleep 1000');
    process.kill('SIGKILL');
    expect(isRunning(next.pid)).toBe(true);
    next.kill('SIGTERM');
    await expect(next.exited).resolves.toEqual({ code: null, signal: 'SIGTERM' });
  });

  test('is refused where its command does not exist', async () => {
    await expect(supervisor.start({ name: 'none', command: '/does/not/exist' })).rejects.toThrow('ENOENT');
  });

  test('is refused where its output cannot be opened', async () => {
    const output = { file: '/does/not/exist' };
    await expect(supervisor.start({ name: 'none', command: 'true', output })).rejects.toThrow('ENOENT');
  });

  test('has its name to itself while it runs, and leaves it when it ends', async () => {
    const { process } = await startScript('script', 'echo ready; exec sleep 1000');
    await expect(supervisor.start({ name: 'script', command: 'true' })).rejects.toThrow(
      'script is running already',
    );
    process.kill();
    await process.exited;
    const { process: next } = await startScript('script', 'exit 5');
    await expect(next.exited).resolves.toEqual({ code: 5, signal: null });
  });

  test('takes what it left running in its process group with it', async () => {
    const { process, lines } = await startScript('script', 'sleep 1000 & echo $!; exit 0');
    await expect(process.exited).resolves.toEqual({ code: 0, signal: null });
    await untilNoneRuns(lines.map(Number));
    expect(lines).toHaveLength(1);
  });

  test('is not held up by what has left its process group and holds its output open', async () => {
    const lines: string[] = [];
    const daemonize = `const options = { detached: true, stdio: 'inherit' };
      console.log(require('node:child_process').spawn('sleep', ['1000'], options).pid);
      process.exit();`;
    const output = { onLine: (line: string) => lines.push(line) };
    const args = ['-e', daemonize];
    const { exited } = await supervisor.start({ name: 'daemon', command: process.execPath, args, output });
    await expect(exited).resolves.toEqual({ code: 0, signal: null });
    expect(lines).toHaveLength(1);
    process.kill(Number(lines[0]));
  });
});

describe('stopping', () => {
  test('ends the processes one after another, the last one first, restarted ones in their first place', async () => {
    const order: string[] = [];
    const start = async (name: string) => {
      const { process } = await startScript(name, 'echo ready; exec sleep 1000');
      void process.exited.then(() => order.push(name));
      return process;
    };
    await start('a');
    const b = await start('b');
    await start('c');
    b.kill();
    await b.exited;
    await start('b');
    await supervisor.stop();
    expect(order).toEqual(['b', 'c', 'b', 'a']);
  });

  test('waits for a process that takes its time', async () => {
    const { process } = await startScript(
      'slow',
      'trap "sleep 0.1; exit 4" TERM; echo ready; while :; do sleep 0.01; done',
    );
    await supervisor.stop();
    await expect(process.exited).resolves.toEqual({ code: 4, signal: null });
  });

  test('kills a process that ignores SIGTERM for longer than its bound', async () => {
    const { process } = await startScript(
      'deaf',
      'trap "" TERM; echo ready; while :; do sleep 0.01; done',
      50,
    );
    await supervisor.stop();
    await expect(process.exited).resolves.toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('removes the directories with all that is in them', async () => {
    const directory = await supervisor.makeDirectory(join(tmpdir(), 'supervisor-test-'));
    writeFileSync(join(directory, 'file'), 'content');
    await supervisor.stop();
    expect(existsSync(directory)).toBe(false);
  });

  test('may be asked for twice, and then nothing starts any more', async () => {
    await Promise.all([supervisor.stop(), supervisor.stop()]);
    await expect(supervisor.start({ name: 'late', command: 'true' })).rejects.toThrow('has ended');
    await expect(supervisor.makeDirectory(tmpdir())).rejects.toThrow('has ended');
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

  test('what is being started is refused', async () => {
    process.kill(supervisor.pid ?? 0, 'SIGSTOP');
    const starting = supervisor.start({ name: 'never', command: 'true' });
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    await expect(starting).rejects.toThrow('the supervisor ended before it started never');
  });
});

describe('when the program ends', () => {
  const script = fileURLToPath(import.meta.resolve('../../support/operator/supervised-parent.js'));

  test.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)('by %s, nothing is left', async (signal) => {
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
