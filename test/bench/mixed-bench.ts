import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import { LOAD_CORE, pin, pinned } from './pinned.ts';
import { progress } from './progress.ts';
import { REVIEWS } from './reviews.ts';
import { type BenchSettings, part } from './settings.ts';
import { ALONE, setStage } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** Reviews a second: a busy cluster's pods, and no load to speak of. */
const RATE = 200;

/** How long the API server waits for the webhook while the same process brings Networks to Ready, beside when it has nothing else to do. */
export async function mixedBench({
  runs,
  seconds,
  networks,
}: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage({ args: [ALONE], watchLoop: true });
  const user = new User(stage.controlPlane);
  // What the API server and etcd need is not the operator's.
  for (const pid of Object.values(stage.controlPlane.pids)) pin(pid, LOAD_CORE);
  try {
    const bodyFile = join(stage.directory, 'review.json');
    await writeFile(bodyFile, REVIEWS.find(({ name }) => name === '5 kB')?.bodies[0] ?? '');
    const url = `${stage.operator.webhookUrl}/inject`;
    const { untilReady, end } = user.watchReady();
    // Compiled by V8 before anything counts.
    await p99During(url, bodyFile, () => pause(1_000));
    const [idle, busy, late, most]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let run = 0; run < runs; run++) {
      const [from, to] = part(networks, run, runs);
      // A hundredth of them has to be more than a few.
      idle.push(await p99During(url, bodyFile, () => pause(2 * seconds * 1_000)));
      // It counts from the last time that it was read.
      await stage.inside();
      busy.push(
        await p99During(url, bodyFile, async () => {
          await user.createNetworks(from, to);
          await untilReady(to);
        }),
      );
      const { lag } = await stage.inside();
      late.push(lag.ownP99);
      most.push(lag.ownMost);
      progress(`  ${to} Networks are Ready`);
    }
    await end();
    const name = `p99 of a review while ${networks} Networks are reconciled`;
    const ratio = summarise(ratios(busy, idle));
    return [
      { name, unit: 'ms', ours: summarise(busy), floor: summarise(idle), ratio, bound: { most: 2.5 } },
      // Without the time in which the process had no core: what slices or a worker thread could save.
      { name: 'p99 of the lag of the event loop meanwhile, of its own', unit: 'ms', ours: summarise(late) },
      { name: 'the most of it', unit: 'ms', ours: summarise(most) },
    ];
  } finally {
    await user.close();
    await stage.stop();
  }
}

/** The probe does not wait for the API server, with which it shares a core. It takes root, and else does nothing. */
const FIRST = ['nice', '-n', '-20'];

/** The 99th percentile of the latency of reviews, in milliseconds, while something else goes on. */
async function p99During(url: string, bodyFile: string, meanwhile: () => Promise<void>): Promise<number> {
  const probe = join(projectDirectory(), 'test/bench/latency-probe.ts');
  const [file = '', ...args] = pinned(LOAD_CORE, [
    ...FIRST,
    process.execPath,
    probe,
    url,
    bodyFile,
    `${RATE}`,
  ]);
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  const ended = new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  try {
    await meanwhile();
  } finally {
    child.stdin.end();
    await ended;
  }
  const { p99, failed } = JSON.parse(printed);
  if (failed > 0) throw new Error(`${failed} reviews failed`);
  return p99;
}
