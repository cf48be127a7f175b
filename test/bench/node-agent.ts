import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../src/networks/agent/programs.ts';
import { FIRST_VNI } from '../../src/networks/multus/cni-config.ts';
import { CNI_PLUGINS } from '../env/cluster/requirements.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';

/**
 * Measures a node agent with many Networks that all have pods on all nodes: the time until they are joined, then the
 * CPU of agent and programs while nothing changes, and memory. It runs in a network of its own, beside an API server
 * that knows these Networks and takes the report. Needs root. Ends with 1 if a bound is not met.
 */
const NETWORKS = Number(process.env.BENCH_NETWORKS ?? 300);
const PEERS = Number(process.env.BENCH_PEERS ?? 99);
const IDLE_SECONDS = Number(process.env.BENCH_SECONDS ?? 120);
/** More than `--look-interval`. */
const SETTLE_SECONDS = 35;
const BOOKMARK_MS = 60_000;
const BOUNDS = { appliedSeconds: 10, idlePercent: 1, memoryMB: 128 };
/** Of /proc/PID/stat, in a second. */
const TICKS = 100;

if (process.argv[2] === 'inside') process.exitCode = await measure();
else {
  const args = ['--net', '--mount', process.execPath, import.meta.filename, 'inside'];
  const [code] = await once(spawn('unshare', args, { stdio: 'inherit' }), 'close');
  process.exitCode = code ?? 1;
}

async function measure(): Promise<0 | 1> {
  for (const line of [
    'link set lo up',
    'link add eth0 type veth peer name wire',
    'address add 192.0.0.1/16 dev eth0',
    'link set eth0 up',
    'link set wire up',
  ]) {
    await run('ip', line.split(' '));
  }
  const root = await mkdtemp(join(tmpdir(), 'node-agent-bench-'));
  const settings = join(root, 'proc/sys/net');
  await mkdir(settings, { recursive: true });
  await run('mount', ['--bind', '/proc/sys/net', settings]);
  let onReport: () => void = () => {};
  const reported = new Promise<void>((resolve) => {
    onReport = resolve;
  });
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'application/json');
    const { searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (request.method === 'PATCH') {
      request.resume();
      response.end(JSON.stringify({ metadata: { name: 'node-0' } }));
      onReport();
    } else if (searchParams.get('watch') !== null) {
      // As an API server does.
      const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '1' } } };
      const timer = setInterval(() => response.write(`${JSON.stringify(bookmark)}\n`), BOOKMARK_MS);
      response.once('close', () => clearInterval(timer)).flushHeaders();
    } else response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: networks() }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const kubeconfig = join(root, 'kubeconfig');
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [
        { name: 'a', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } },
      ],
      users: [{ name: 'a', user: {} }],
    }),
  );
  const startedMs = performance.now();
  const agent = spawn(
    process.execPath,
    [
      // As Node limits its heap by itself in a container with the manifest's memory limit.
      ...['--max-old-space-size=256', '--max-semi-space-size=2'],
      ...[join(projectDirectory(), 'dist/main.js'), 'node-agent'],
      ...['--kubeconfig', kubeconfig, '--metrics-port=0', '--log-level=warn', '--node-name=node-0'],
      ...['--node-address=192.0.0.1', '--host-root', root, '--cni-plugins', CNI_PLUGINS],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  try {
    const ended = once(agent, 'exit').then(([code]) => {
      throw new Error(`the agent ended with ${code}`);
    });
    await Promise.race([reported, ended]);
    const appliedSeconds = (performance.now() - startedMs) / 1000;
    const entries = (await run('bridge', ['fdb', 'show'])).match(/00:00:00:00:00:00 .* dst /g)?.length ?? 0;
    // The look after the change finds the new state; those after it find nothing.
    await sleep(SETTLE_SECONDS * 1000);
    const before = await cpuSeconds(agent.pid);
    await sleep(IDLE_SECONDS * 1000);
    const idlePercent = (100 * ((await cpuSeconds(agent.pid)) - before)) / IDLE_SECONDS;
    const memoryMB = await peakMemory(agent.pid);
    const found = { appliedSeconds, idlePercent, memoryMB };
    process.stdout.write(`${JSON.stringify({ networks: NETWORKS, peers: PEERS, entries, ...found })}\n`);
    const isMet = (name: keyof typeof BOUNDS) => found[name] <= BOUNDS[name];
    const isRight =
      entries === NETWORKS * PEERS && isMet('appliedSeconds') && isMet('idlePercent') && isMet('memoryMB');
    if (!isRight) process.stderr.write(`a bound is not met: ${JSON.stringify(BOUNDS)}\n`);
    return isRight ? 0 : 1;
  } finally {
    agent.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
    await run('umount', [settings]);
    await rm(root, { recursive: true });
  }
}

function networks(): readonly object[] {
  const nodes = Array.from({ length: PEERS + 1 }, (_, i) => ({
    name: `node-${i}`,
    address: `192.0.${i >> 8}.${(i & 255) + 1}`,
  }));
  return Array.from({ length: NETWORKS }, (_, i) => {
    const [cidr, gateway] = ['0/24', '1'].map((end) => `10.${i >> 8}.${i & 255}.${end}`);
    return {
      metadata: { name: `network-${i}`, namespace: 'default', uid: `${i}`, resourceVersion: '1' },
      spec: { cidr, gateway },
      status: { cidr, gateway, mtu: 1450, vni: FIRST_VNI + i, nodes },
    };
  });
}

/** Of the process and of the programs that it has run. */
async function cpuSeconds(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}

/** The most that has been resident. */
async function peakMemory(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}
