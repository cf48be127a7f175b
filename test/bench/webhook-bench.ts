import { join } from 'node:path';
import { cpuSeconds } from './cpu-time.ts';
import { Load } from './load.ts';
import type { Bound, Measurement } from './measurement.ts';
import { progress } from './progress.ts';
import { MIXED, REVIEWS, type ReviewKind } from './reviews.ts';
import type { BenchSettings } from './settings.ts';
import { type Peer, post, type Stage, setStage, startPeer } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** The design's (docs/adr/0026): of the reviews of the floor, and of the Go webhook, in one second of CPU time. */
const BOUNDS: Readonly<Record<string, Readonly<Record<Peer, Bound>>>> = {
  [`${MIXED}, the first 5,000`]: { 'floor-server': { least: 0.55 }, 'go-webhook': { least: 1 } },
  [MIXED]: { 'floor-server': { least: 0.55 }, 'go-webhook': { least: 1 } },
  '2,000 env': { 'floor-server': { least: 0.8 }, 'go-webhook': { least: 1 } },
};
const PEERS: readonly Peer[] = ['floor-server', 'go-webhook'];
const NAMES: Readonly<Record<Peer, string>> = {
  'floor-server': 'beside the floor',
  'go-webhook': 'beside Go',
};

/** Of what has no bound there are no more runs than this. */
const UNBOUND_RUNS = 3;
/** Reviews in one slice of one server, in bytes: some 100 ms. */
const SLICE_BYTES = 2_000_000;
const FIRST = 5_000;

/** Reviews beside a bare server and a webhook in Go, in one second of time and of CPU time. */
export async function webhookBench(settings: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage();
  try {
    const measured: Measurement[] = [];
    const mixed = REVIEWS.find(({ name }) => name === MIXED);
    if (mixed) measured.push(...(await soonAfterStart(stage, mixed, settings)));
    for (const review of REVIEWS) measured.push(...(await compared(stage, review, settings, false)));
    const typical = REVIEWS.find(({ name }) => name === '5 kB');
    if (typical) measured.push(...(await compared(stage, typical, settings, true)));
    return measured;
  } finally {
    await stage.stop();
  }
}

function titleOf(name: string, kind: string, peer: Peer): string {
  return `injections, ${name}, ${kind}, ${NAMES[peer]}`;
}

/** A server under load. */
interface Contender {
  readonly load: Load;
  readonly pid: number;
}

/** What a server did in one run. */
interface Done {
  readonly reviews: number;
  readonly seconds: number;
  readonly cpu: number;
}

async function soonAfterStart(
  stage: Stage,
  review: ReviewKind,
  { runs }: BenchSettings,
): Promise<readonly Measurement[]> {
  const name = `${review.name}, the first 5,000`;
  progress(`  ${name}`);
  const done: (readonly Done[])[] = [];
  for (let run = 0; run < runs; run++) {
    stage.operator.process.kill();
    await stage.operator.restart();
    stage.pinOperator();
    done.push(await withContenders(stage, review, false, (all) => byTurns(all, FIRST, FIRST / 20)));
  }
  return measurements(name, done);
}

async function compared(
  stage: Stage,
  review: ReviewKind,
  { runs, seconds }: BenchSettings,
  fresh: boolean,
): Promise<readonly Measurement[]> {
  const name = `${review.name}${fresh ? ', a connection each' : ''}`;
  progress(`  ${name}`);
  const slice = fresh ? 200 : Math.max(16, Math.round(SLICE_BYTES / (review.bodies[0]?.length ?? 1)));
  return await withContenders(stage, review, fresh, async (all) => {
    // V8 compiles what is hot in some seconds, and what has been compiled later would look slower.
    await byTurns(all, 10 * seconds * slice, slice);
    const done: (readonly Done[])[] = [];
    for (let run = 0; run < (name in BOUNDS ? runs : Math.min(runs, UNBOUND_RUNS)); run++)
      done.push(await byTurns(all, 5 * seconds * slice, slice));
    return measurements(name, done);
  });
}

/** The operator first, then its peers. */
async function withContenders<T>(
  stage: Stage,
  review: ReviewKind,
  fresh: boolean,
  measure: (all: readonly Contender[]) => Promise<T>,
): Promise<T> {
  const oursUrl = `${stage.operator.webhookUrl}/inject?timeout=10s`;
  const answer = await post(oursUrl, review.bodies[0] ?? '');
  if (answer.includes('"patch"') !== review.injected) {
    const what = review.injected ? '' : 'not ';
    throw new Error(`expected the pod "${review.name}" ${what}to be injected, got ${answer}`);
  }
  const peers = await Promise.all(PEERS.map((peer) => startPeer(stage, peer, answer)));
  const { bodies } = review;
  const all: Contender[] = [];
  try {
    for (const [i, { url, pid }] of [{ url: oursUrl, pid: stage.operator.process.pid }, ...peers].entries()) {
      const bodyFile = join(stage.directory, `reviews-${i}`);
      all.push({ pid, load: await Load.start({ url, bodies, bodyFile, fresh }) });
    }
    return await measure(all);
  } finally {
    await Promise.all(all.map(({ load }) => load.stop()));
    for (const { stop } of peers) await stop();
  }
}

/** So many reviews for each, a slice of one and a slice of the next, since other machines on the same host come and go. */
async function byTurns(all: readonly Contender[], reviews: number, slice: number): Promise<readonly Done[]> {
  const sums = all.map(() => ({ reviews: 0, seconds: 0, cpu: 0 }));
  for (let sent = 0; sent < reviews; sent += slice) {
    for (const [i, { load, pid }] of all.entries()) {
      const { seconds, cpu } = await load.send(slice, async (send) => {
        const before = cpuSeconds(pid);
        return { seconds: await send(), cpu: cpuSeconds(pid) - before };
      });
      const sum = sums[i];
      if (!sum) continue;
      sum.reviews += slice;
      sum.seconds += seconds;
      sum.cpu += cpu;
    }
  }
  return sums;
}

/** One line for each peer and kind of time. */
function measurements(name: string, runs: readonly (readonly Done[])[]): readonly Measurement[] {
  const kinds = [
    ['CPU', 'reviews/CPU s', ({ reviews, cpu }: Done) => reviews / cpu],
    ['rate', 'reviews/s', ({ reviews, seconds }: Done) => reviews / seconds],
  ] as const;
  return PEERS.flatMap((peer, i) =>
    kinds.map(([kind, unit, figure]): Measurement => {
      const [ours, other] = [0, i + 1].map((at) => runs.flatMap((run) => run.slice(at, at + 1).map(figure)));
      const bound = kind === 'CPU' ? BOUNDS[name]?.[peer] : undefined;
      return {
        name: titleOf(name, kind, peer),
        unit,
        ours: summarise(ours ?? []),
        floor: summarise(other ?? []),
        ratio: summarise(ratios(ours ?? [], other ?? [])),
        ...(bound && { bound }),
      };
    }),
  );
}
