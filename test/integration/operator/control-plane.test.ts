import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { get } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { shellExports } from '../../env/control-plane/shell-exports.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { isRunning, untilNoneRuns } from '../../support/operator/is-running.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

jest.setTimeout(120_000);

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane({ auditLog: 'Metadata' });
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

/** The HTTP status of a GET by somebody without the admin's certificate. */
async function status(path: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  const request = get(`${controlPlane.server}${path}`, { ca: controlPlane.caPem, headers, agent: false });
  const [response] = await once(request, 'response');
  response.resume();
  return response.statusCode;
}

describe('a control plane', () => {
  test('answers kubectl, and is of the version it was built as', async () => {
    expect(await kubectl(controlPlane, 'get', 'namespace', 'default', '-o', 'name')).toBe(
      'namespace/default',
    );
    const version = JSON.parse(await kubectl(controlPlane, 'version', '-o', 'json'));
    expect(version.serverVersion.gitVersion).toMatch(/^v1\.\d+\.\d+/);
    expect(version.serverVersion.gitVersion).toBe(version.clientVersion.gitVersion);
  });

  test('gives kubectl its input, and its exit code to the caller', async () => {
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'from-stdin' },
    });
    expect(await controlPlane.kubectl(['apply', '-f', '-'], { input: manifest })).toMatchObject({
      stdout: 'namespace/from-stdin created\n',
      code: 0,
    });
    expect(await controlPlane.kubectl(['get', 'namespace', 'none'])).toMatchObject({
      stderr: expect.stringContaining('NotFound'),
      code: 1,
    });
  });

  test("keeps kubectl away from the user's own settings, and the admin's key from other users", async () => {
    expect(await kubectl(controlPlane, 'config', 'get-contexts', '-o', 'name')).toBe('envoy-initializer');
    expect(readdirSync(join(controlPlane.directory, 'home'))).toEqual(['cache']);
    expect(statSync(controlPlane.kubeconfigPath).mode & 0o777).toBe(0o600);
    expect(statSync(controlPlane.directory).mode & 0o777).toBe(0o700);
  });

  test('asks who you are, and what you may do', async () => {
    expect([401, 403]).toContain(await status('/api/v1/namespaces/default/pods'));
    expect(await status('/api/v1/namespaces/default/pods', { authorization: 'Bearer nonsense' })).toBe(401);
    await kubectl(controlPlane, 'create', 'serviceaccount', 'nobody');
    const token = await kubectl(controlPlane, 'create', 'token', 'nobody');
    const authorization = `Bearer ${token}`;
    expect(await status('/api/v1/namespaces/default/pods', { authorization })).toBe(403);
    await kubectl(
      controlPlane,
      'create',
      'rolebinding',
      'view',
      '--clusterrole=view',
      '--serviceaccount=default:nobody',
    );
    expect(await status('/api/v1/namespaces/default/pods', { authorization })).toBe(200);
  });

  test('writes an audit log where it is asked to', async () => {
    await kubectl(controlPlane, 'create', 'configmap', 'audited');
    const entries = readFileSync(controlPlane.auditLogPath, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries).toContainEqual(
      expect.objectContaining({ verb: 'create', objectRef: expect.objectContaining({ name: 'audited' }) }),
    );
  });

  test('knows the NetworkAttachmentDefinition of our tests', async () => {
    const crd = join(projectDirectory(), 'test/env/control-plane/network-attachment-definition-crd.yaml');
    await kubectl(controlPlane, 'apply', '-f', crd);
    await kubectl(controlPlane, 'wait', '--for=condition=Established', '-f', crd);
    const input = JSON.stringify({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name: 'example' },
      spec: { config: '{"cniVersion":"1.0.0"}' },
    });
    expect(await controlPlane.kubectl(['create', '-f', '-'], { input })).toMatchObject({ code: 0 });
    const path = ['get', 'net-attach-def', 'example', '-o', 'jsonpath={.spec.config}'];
    expect(await kubectl(controlPlane, ...path)).toBe('{"cniVersion":"1.0.0"}');
  });

  testWithControllerManager('ends namespaces', async () => {
    await kubectl(controlPlane, 'create', 'namespace', 'short-lived');
    await kubectl(controlPlane, 'delete', 'namespace', 'short-lived', '--timeout=60s');
    expect(await controlPlane.kubectl(['get', 'namespace', 'short-lived'])).toMatchObject({ code: 1 });
  });

  test('runs beside another one, which has its own data', async () => {
    const other = await startControlPlane();
    try {
      expect(other.server).not.toBe(controlPlane.server);
      await kubectl(other, 'create', 'namespace', 'only-here');
      expect(await controlPlane.kubectl(['get', 'namespace', 'only-here'])).toMatchObject({ code: 1 });
    } finally {
      await other.stop();
    }
  });
});

describe('an outage', () => {
  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'of the API server by %s ends it for clients, and it comes back where it was, with its data',
    async (signal) => {
      await kubectl(controlPlane, 'create', 'configmap', `before-${signal.toLowerCase()}`);
      const { server } = controlPlane;
      await controlPlane.stopApiServer(signal);
      expect(controlPlane.pids).not.toHaveProperty('kube-apiserver');
      expect(await controlPlane.kubectl(['get', 'namespaces'])).toMatchObject({ code: 1 });
      await controlPlane.startApiServer();
      expect(controlPlane.server).toBe(server);
      expect(await Promise.race([controlPlane.failure, 'no failure'])).toBe('no failure');
      await kubectl(controlPlane, 'get', 'configmap', `before-${signal.toLowerCase()}`);
    },
  );

  test('of etcd loses nothing that was written', async () => {
    await kubectl(controlPlane, 'create', 'configmap', 'before-etcd');
    const before = controlPlane.pids;
    await controlPlane.restartEtcd('SIGKILL');
    expect(controlPlane.pids['kube-apiserver']).toBe(before['kube-apiserver']);
    expect(controlPlane.pids.etcd).not.toBe(before.etcd);
    await kubectl(controlPlane, 'get', 'configmap', 'before-etcd');
  });

  test('that nobody asked for is told with the end of the log', async () => {
    const other = await startControlPlane();
    try {
      process.kill(other.pids['kube-apiserver'] ?? 0, 'SIGKILL');
      expect((await other.failure).message).toMatch(/^kube-apiserver ended with SIGKILL:\n.+/);
    } finally {
      await other.stop();
    }
  });
});

describe('without a controller manager', () => {
  test('it says so, and pods need no service account', async () => {
    const { 'kube-controller-manager': _, ...binaries } = await findBinaries(process.env);
    const messages: string[] = [];
    const other = await startControlPlane({ binaries, log: (message) => messages.push(message) });
    try {
      expect(other.hasControllerManager).toBe(false);
      expect(messages.at(-1)).toContain('no kube-controller-manager');
      await kubectl(other, 'run', 'pod', '--image=busybox');
    } finally {
      await other.stop();
    }
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

  test.each(['apiServer', 'etcd'] as const)(
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

  test.each(['SIGINT', 'SIGHUP'] as const)('when `up` gets %s', async (signal) => {
    const cli = fileURLToPath(import.meta.resolve('../../env/control-plane/cli.js'));
    const up = spawn(process.execPath, [cli, 'up'], { stdio: ['ignore', 'pipe', 'pipe'] });
    up.stderr.resume();
    const [line] = await once(createInterface({ input: up.stdout }), 'line');
    const kubeconfig = String(line).replace('export KUBECONFIG=', '');
    expect(existsSync(kubeconfig)).toBe(true);
    const closed = once(up, 'close');
    up.kill(signal);
    expect(await closed).toEqual([0, null]);
    expect(existsSync(kubeconfig)).toBe(false);
  });
});

test('a shell that finds no kubectl is told where there is one', async () => {
  const [first, second = '', ...rest] = await shellExports('/tmp/kubeconfig', {
    ...process.env,
    PATH: '/nowhere',
  });
  expect([first, rest]).toEqual(['export KUBECONFIG=/tmp/kubeconfig', []]);
  const [, directory = ''] = /^export PATH=(.*):\$PATH$/.exec(second) ?? [];
  expect(existsSync(join(directory, 'kubectl'))).toBe(true);
});
