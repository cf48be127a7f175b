import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Point } from '../../hack/pictures/growth-plot.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import { progress } from './progress.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE, setStage } from './stage.ts';
import { summarise } from './statistics.ts';

/** By the number of Networks of the settings: 10,000 gives 1,000 to 20,000. */
const SIZES = [0.1, 0.25, 0.5, 1, 1.5, 2];
/** Where the points go when the figures are recorded: `make pictures` draws them. */
const POINTS = 'test/bench/growth.json';

/** An idle process returns what it needed for a moment: it looks each 5 s, and a resync lasts that long, too. */
const RETURNED_MS = 20_000;

/** The design's, by how many pods there are, in MB; of more pods nothing is said. */
const MOST_MB = [
  { pods: 10_000, most: 250 },
  { pods: 100_000, most: 350 },
];

/** What a Network more costs, the more there are, beside so many pods: a curve. */
export async function growthBench({
  networks,
  pods,
  record,
}: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage({ args: [ALONE] });
  const user = new User(stage.controlPlane);
  try {
    await user.createPods(pods);
    const { untilReady, end } = user.watchReady();
    const points: Point[] = [];
    for (let there = 0, i = 0; i < SIZES.length; i++) {
      const size = Math.round((SIZES[i] ?? 0) * networks);
      const start = performance.now();
      await user.createNetworks(there, size);
      await untilReady(size);
      const millisecondsEach = (performance.now() - start) / (size - there);
      await pause(RETURNED_MS);
      progress(`  ${size} Networks are Ready`);
      points.push({ networks: size, millisecondsEach, residentMb: await stage.residentMb() });
      there = size;
    }
    await end();
    const file = join(projectDirectory(), record ? '' : 'out', POINTS);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(points, undefined, 2)}\n`);
    const [first, last] = [points.at(0), points.at(-1)];
    if (!first || !last) return [];
    const kilobytes = ((last.residentMb - first.residentMb) * 1024) / (last.networks - first.networks);
    const middle = points.find((point) => point.networks === networks) ?? last;
    const bound = MOST_MB.find((each) => pods <= each.pods);
    return [
      {
        name: `resident memory, ${middle.networks} Networks and ${pods} pods`,
        unit: 'MB',
        ours: summarise([middle.residentMb]),
        ...(bound && { bound: { most: bound.most } }),
      },
      {
        name: `time to make one more Ready, at ${last.networks} Networks, by that at ${first.networks}`,
        unit: 'ms',
        ours: summarise([last.millisecondsEach]),
        floor: summarise([first.millisecondsEach]),
        ratio: summarise([last.millisecondsEach / first.millisecondsEach]),
      },
      { name: 'resident memory for each Network more', unit: 'kB', ours: summarise([kilobytes]) },
    ];
  } finally {
    await user.close();
    await stage.stop();
  }
}
