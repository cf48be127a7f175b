import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requestsPerSecond } from './load.ts';
import type { Bound, Measurement } from './measurement.ts';
import { progress } from './progress.ts';
import { REVIEWS, type ReviewKind } from './reviews.ts';
import type { BenchSettings } from './settings.ts';
import { post, type Stage, setStage, startPeer } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** The design's, on one core over TLS: of the floor's rate, or of the Express server's (docs/adr/0011). */
const OF_FLOOR: Readonly<Record<string, Bound>> = { '2,000 env': { least: 0.8 } };
const OF_EXPRESS: Readonly<Record<string, Bound>> = { '5 kB': { least: 0.8 } };

/** Of what has no bound there are no more runs than this. */
const UNBOUND_RUNS = 3;

/** Injections per second, beside servers that answer each with what we answered once: a bare one, and one with Express. */
export async function webhookBench(settings: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage();
  try {
    const measured: Measurement[] = [];
    for (const review of REVIEWS) measured.push(...(await compared(stage, review, settings, false)));
    const typical = REVIEWS.find(({ name }) => name === '5 kB');
    if (typical) measured.push(...(await compared(stage, typical, settings, true)));
    return measured;
  } finally {
    await stage.stop();
  }
}

async function compared(
  stage: Stage,
  review: ReviewKind,
  { runs, seconds }: BenchSettings,
  fresh: boolean,
): Promise<readonly Measurement[]> {
  const [ofFloor, ofExpress] = fresh ? [] : [OF_FLOOR[review.name], OF_EXPRESS[review.name]];
  progress(`  ${review.name}${fresh ? ', a connection each' : ''}`);
  const oursUrl = `${stage.operator.webhookUrl}/inject?timeout=10s`;
  const answer = await post(oursUrl, review.body);
  if (answer.includes('"patch"') !== review.injected) {
    throw new Error(
      `expected the pod "${review.name}" ${review.injected ? '' : 'not '}to be injected, got ${answer}`,
    );
  }
  const urls = [oursUrl, await startPeer(stage, 'floor-server', answer)];
  if (ofExpress) urls.push(await startPeer(stage, 'express-server', answer));
  const bodyFile = join(stage.directory, 'review.json');
  await writeFile(bodyFile, review.body);
  const load = (url: string) => requestsPerSecond({ url, bodyFile, seconds: 1, fresh });
  // V8 compiles what is hot in some seconds, and whoever has been compiled later would look slower.
  await byTurns(urls, 2 * seconds, load);
  const rates: (readonly number[])[] = [];
  for (let run = 0; run < (ofFloor || ofExpress ? runs : Math.min(runs, UNBOUND_RUNS)); run++) {
    rates.push(await byTurns(urls, seconds, load));
  }
  const [ours = [], floor = [], express = []] = urls.map((_, i) => rates.map((run) => run[i] ?? Number.NaN));
  const name = `injections, ${review.name}${fresh ? ', a connection each' : ''}`;
  const beside = (title: string, other: readonly number[], bound: Bound | undefined): Measurement => ({
    name: title,
    unit: 'req/s',
    ours: summarise(ours),
    floor: summarise(other),
    ratio: summarise(ratios(ours, other)),
    ...(bound && { bound }),
  });
  const besideFloor = beside(name, floor, ofFloor);
  return ofExpress ? [besideFloor, beside(`${name}, beside Express`, express, ofExpress)] : [besideFloor];
}

/** The rate of each in one run: a second of one and a second of the next, since other machines on the same host come and go. */
async function byTurns(
  urls: readonly string[],
  seconds: number,
  load: (url: string) => Promise<number>,
): Promise<readonly number[]> {
  const sums = urls.map(() => 0);
  for (let second = 0; second < seconds; second++) {
    for (const [i, url] of urls.entries()) sums[i] = (sums[i] ?? 0) + (await load(url));
  }
  return sums.map((sum) => sum / seconds);
}
