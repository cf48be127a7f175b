import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { isRunning, untilNoneRuns } from '../../support/operator/is-running.ts';

jest.setTimeout(120_000);

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
});
afterAll(async () => {
  await controlPlane?.stop();
});

/** Runs kubectl and expects it to succeed; resolves with its stdout. */
async function kubectl(on: ControlPlane, ...args: string[]): Promise<string> {
  const { stdout, stderr, code } = await on.kubectl(args);
  expect({ args, stderr, code }).toMatchObject({ code: 0 });
  return stdout.trim();
}

describe('a control plane', () => {
  test("keeps kubectl away from the user's own settings, and the admin's key from other users", async () => {
    await kubectl(controlPlane, 'get', 'namespaces');
    expect(await kubectl(controlPlane, 'config', 'get-contexts', '-o', 'name')).toBe('envoy-initializer');
    expect(readdirSync(join(controlPlane.directory, 'home'))).toEqual(['cache']);
    expect(statSync(controlPlane.kubeconfigPath).mode & 0o777).toBe(0o600);
    expect(statSync(controlPlane.directory).mode & 0o777).toBe(0o700);
  });
});

describe('a start that fails', () => {
  test('is told at once with the end of the log, and leaves no file', async () => {
    const temporaryDirectory = mkdtempSync(join(tmpdir(), 'control-plane-test-'));
    const starting = startControlPlane({ temporaryDirectory, extraApiServerArgs: ['--no-such-flag'] });
    await expect(starting).rejects.toThrow(
      /kube-apiserver ended with code 1:[\s\S]*unknown flag: --no-such-flag/,
    );
    expect(readdirSync(temporaryDirectory)).toEqual([]);
    rmdirSync(temporaryDirectory);
  });

  test.each(['apiServer'] as const)(
    'because the port for %s was taken is tried again with others',
    async (name) => {
      const thief = createServer().listen(0, '127.0.0.1');
      await once(thief, 'listening');
      const taken = { [name]: (thief.address() as AddressInfo).port };
      let attempts = 0;
      const choosePorts = async () => {
        const [apiServer = 0, etcd = 0] = await freePorts(2);
        attempts += 1;
        return { apiServer, etcd, ...(attempts === 1 ? taken : {}) };
      };
      const other = await startControlPlane({ choosePorts });
      try {
        expect(attempts).toBe(2);
        await kubectl(other, 'get', 'namespaces');
      } finally {
        await other.stop();
        thief.close();
      }
    },
  );
});

describe('nothing is left', () => {
  test('when it is stopped, and what ran against it ends while the API server still answers', async () => {
    const other = await startControlPlane();
    const lines: string[] = [];
    const { kubectl: path } = await findBinaries(process.env);
    let onLine = () => {};
    const started = new Promise<void>((resolve) => {
      onLine = resolve;
    });
    await other.supervisor.start({
      name: 'client',
      command: 'sh',
      args: [
        '-c',
        `trap '"$0" get --raw /readyz; exit' TERM; echo started; while :; do sleep 0.05; done`,
        path,
      ],
      env: { PATH: process.env.PATH, KUBECONFIG: other.kubeconfigPath, HOME: other.directory },
      output: {
        onLine: (line) => {
          lines.push(line);
          onLine();
        },
      },
    });
    await started;
    const pids = Object.values(other.pids);
    expect(pids.length).toBeGreaterThanOrEqual(3);
    expect(pids.every(isRunning)).toBe(true);
    await other.stop();
    expect(lines).toEqual(['started', 'ok']);
    await untilNoneRuns(pids);
    expect(existsSync(other.directory)).toBe(false);
  });

  test('when the program that started it is killed', async () => {
    const script = fileURLToPath(import.meta.resolve('../../support/operator/control-plane-parent.js'));
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [line] = await once(createInterface({ input: parent.stdout }), 'line');
    const { pids, directory } = JSON.parse(line) as { pids: number[]; directory: string };
    expect(pids.every(isRunning)).toBe(true);
    expect(existsSync(directory)).toBe(true);
    // Its supervisor shares its stderr, which closes when the last of the two has ended.
    const closed = once(parent, 'close');
    parent.kill('SIGKILL');
    await closed;
    await untilNoneRuns(pids);
    expect(existsSync(directory)).toBe(false);
  });
});
