import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import { first, LOAD_CORE, pin, pinned, unpin } from './pinned.ts';
import { progress } from './progress.ts';
import { REVIEWS } from './reviews.ts';
import { type BenchSettings, part } from './settings.ts';
import { ALONE, post, type Stage, setStage, startPeer } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** Reviews a second: a busy cluster's pods, and no load to speak of. */
const RATE = 200;
/** Networks by which V8 compiles what counts later. */
const WARM_UP = 300;
/** For the control, fewer Networks are enough: a hundredth of the reviews has to be more than a few. */
const CONTROL_PART = 5;

/** What one run measured, in milliseconds. */
interface Run {
  /** The 99th percentiles of the reviews, without other work and beside it. */
  readonly ours: Pair;
  readonly floor: Pair;
}

interface Pair {
  readonly idle: number;
  readonly busy: number;
}

/**
 * How long the API server waits for the webhook while the same process brings Networks to Ready, beside when it has
 * nothing else to do. The control is a bare server, alone on the operator's core, while the operator does the same on
 * the core of the API server: what it waits longer comes from the machine and not from the operator.
 */
export async function mixedBench(settings: BenchSettings): Promise<readonly Measurement[]> {
  const { runs, networks } = settings;
  const stage = await setStage({ args: [ALONE] });
  const user = new User(stage.controlPlane);
  // What the API server, etcd and the user need is not the operator's.
  for (const pid of [process.pid, ...Object.values(stage.controlPlane.pids)]) pin(pid, LOAD_CORE);
  try {
    const body = REVIEWS.find(({ name }) => name === '5 kB')?.bodies[0] ?? '';
    const bodyFile = join(stage.directory, 'review.json');
    await writeFile(bodyFile, body);
    const url = `${stage.operator.webhookUrl}/inject`;
    const floor = await startPeer(stage, 'floor-server', await post(url, body));
    const { untilReady, end } = user.watchReady();
    let made = 0;
    const make = async (count: number) => {
      const from = made;
      made += count;
      await user.createNetworks(from, made);
      await untilReady(made);
    };
    const p99 = (of: string, meanwhile: () => Promise<unknown>) => p99During(of, bodyFile, meanwhile);
    await p99(url, () => make(WARM_UP));
    await p99(floor.url, () => pause(1_000));
    const done: Run[] = [];
    for (let run = 0; run < runs; run++) {
      const [from, to] = part(networks, run, runs);
      const one = await measure({ stage, p99, url, floorUrl: floor.url, make, count: to - from, settings });
      done.push(one);
      progress(`  ${to} Networks are Ready: ${JSON.stringify(one)}`);
    }
    await end();
    return measurements(networks, done);
  } finally {
    unpin(process.pid);
    await user.close();
    await stage.stop();
  }
}

interface RunOptions {
  readonly stage: Stage;
  readonly url: string;
  readonly floorUrl: string;
  readonly count: number;
  readonly settings: BenchSettings;
  p99(url: string, meanwhile: () => Promise<unknown>): Promise<number>;
  /** Makes so many Networks, and resolves when they are Ready. */
  make(count: number): Promise<void>;
}

async function measure({ stage, url, floorUrl, count, settings, p99, make }: RunOptions): Promise<Run> {
  const nothing = () => pause(2 * settings.seconds * 1_000);
  const idle = await p99(url, nothing);
  const busy = await p99(url, () => make(count));
  const floorIdle = await p99(floorUrl, nothing);
  pin(stage.operator.process.pid, LOAD_CORE);
  const floorBusy = await p99(floorUrl, () => make(Math.ceil(count / CONTROL_PART)));
  stage.pinOperator();
  return { ours: { idle, busy }, floor: { idle: floorIdle, busy: floorBusy } };
}

function measurements(networks: number, runs: readonly Run[]): readonly Measurement[] {
  const compared = (name: string, pairs: readonly Pair[], more: Partial<Measurement> = {}): Measurement => {
    const [busy, idle] = [pairs.map((pair) => pair.busy), pairs.map((pair) => pair.idle)];
    const figures = { ours: summarise(busy), floor: summarise(idle), ratio: summarise(ratios(busy, idle)) };
    return { name, unit: 'ms', ...figures, ...more };
  };
  const all = (of: (run: Run) => Pair) => runs.map(of);
  return [
    compared(
      `p99 of a review while ${networks} Networks are reconciled`,
      all(({ ours }) => ours),
      { bound: { most: 2.5 } },
    ),
    compared(
      'the same of a bare server, while the operator has another core',
      all(({ floor }) => floor),
    ),
  ];
}

/** The 99th percentile of the latency of reviews, in milliseconds, while something else goes on. */
async function p99During(url: string, bodyFile: string, meanwhile: () => Promise<unknown>): Promise<number> {
  const probe = join(projectDirectory(), 'test/bench/latency-probe.ts');
  // Of V8's threads with real-time priority on one core, one that waits for another would keep it from running.
  const node = [process.execPath, '--single-threaded', probe, url, bodyFile, `${RATE}`];
  const [file = '', ...args] = pinned(LOAD_CORE, first(node));
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  try {
    if ((await lines.next()).value !== 'counting') throw new Error('the probe ended before it counted');
    await meanwhile();
  } finally {
    child.stdin.end();
  }
  const { p99, failed } = JSON.parse((await lines.next()).value ?? '');
  await ended;
  if (failed > 0) throw new Error(`${failed} reviews failed`);
  return p99;
}
