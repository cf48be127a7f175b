import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { projectDirectory } from '../../hack/control-plane/project-directory.ts';
import { growthPlot, type Point } from './growth-plot.ts';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE, setStage } from './stage.ts';
import { summarise } from './statistics.ts';

/** By the number of Networks of the settings: 10,000 gives 1,000 to 20,000. */
const SIZES = [0.1, 0.25, 0.5, 1, 1.5, 2];
/** Where the plot goes when the figures are recorded. */
const PLOT = 'docs/growth.svg';

/** What a Network more costs, the more there are: a curve, drawn when it is recorded. */
export async function growthBench({ networks, record }: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage({ args: [ALONE] });
  const user = new User(stage.controlPlane);
  try {
    const { untilReady, end } = user.watchReady();
    const points: Point[] = [];
    for (let there = 0, i = 0; i < SIZES.length; i++) {
      const size = Math.round((SIZES[i] ?? 0) * networks);
      const start = performance.now();
      await user.createNetworks(there, size);
      await untilReady(size);
      const millisecondsEach = (performance.now() - start) / (size - there);
      await pause(3_000);
      points.push({ networks: size, millisecondsEach, residentMb: await stage.residentMb() });
      there = size;
    }
    await end();
    const directory = record ? projectDirectory() : join(projectDirectory(), 'out');
    await mkdir(join(directory, 'docs'), { recursive: true });
    await writeFile(join(directory, PLOT), growthPlot(points));
    const [first, last] = [points.at(0), points.at(-1)];
    if (!first || !last) return [];
    const kilobytes = ((last.residentMb - first.residentMb) * 1024) / (last.networks - first.networks);
    return [
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
