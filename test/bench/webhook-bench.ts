import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoadOptions, requestsPerSecond } from './load.ts';
import type { Bound, Measurement } from './measurement.ts';
import { progress } from './progress.ts';
import { REVIEWS, type ReviewKind } from './reviews.ts';
import type { BenchSettings } from './settings.ts';
import { post, type Stage, setStage, startFloor } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** The design's, on one core over TLS. */
const BOUNDS: Readonly<Record<string, Bound>> = { '5 kB': { least: 0.6 }, '2,000 env': { least: 0.8 } };

/** Of what has no bound there are no more runs than this. */
const UNBOUND_RUNS = 3;

/** Injections per second, beside a bare server that answers each with what we answered once. */
export async function webhookBench(settings: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage();
  try {
    const measured: Measurement[] = [];
    for (const review of REVIEWS) measured.push(await compared(stage, review, settings, false));
    const typical = REVIEWS.find(({ name }) => name === '5 kB');
    if (typical) measured.push(await compared(stage, typical, settings, true));
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
): Promise<Measurement> {
  const bound = fresh ? undefined : BOUNDS[review.name];
  progress(`  ${review.name}${fresh ? ', a connection each' : ''}`);
  const oursUrl = `${stage.operator.webhookUrl}/inject`;
  const answer = await post(oursUrl, review.body);
  if (answer.includes('"patch"') !== review.injected) {
    throw new Error(
      `expected the pod "${review.name}" ${review.injected ? '' : 'not '}to be injected, got ${answer}`,
    );
  }
  const floorUrl = await startFloor(stage, answer);
  const bodyFile = join(stage.directory, 'review.json');
  await writeFile(bodyFile, review.body);
  const load = (url: string, time: number) => {
    const options: LoadOptions = { url, bodyFile, seconds: time, fresh };
    return requestsPerSecond(options);
  };
  const [ours, floor]: [number[], number[]] = [[], []];
  // Both are compiled by V8 before anything counts; then they take turns.
  for (const url of [floorUrl, oursUrl]) await load(url, Math.ceil(seconds / 2));
  for (let run = 0; run < (bound ? runs : Math.min(runs, UNBOUND_RUNS)); run++) {
    floor.push(await load(floorUrl, seconds));
    ours.push(await load(oursUrl, seconds));
  }
  return {
    name: `injections, ${review.name}${fresh ? ', a connection each' : ''}`,
    unit: 'req/s',
    ours: summarise(ours),
    floor: summarise(floor),
    ratio: summarise(ratios(ours, floor)),
    ...(bound && { bound }),
  };
}
