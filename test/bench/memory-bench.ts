import { setTimeout as pause } from 'node:timers/promises';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE, setStage } from './stage.ts';
import { summarise } from './statistics.ts';

/** What the process holds with so many Networks, all Ready, and so many pods. */
export async function memoryBench({ networks, pods }: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage({ args: [ALONE] });
  const user = new User(stage.controlPlane);
  try {
    await user.createPods(pods);
    const { untilReady, end } = user.watchReady();
    await user.createNetworks(0, networks);
    await untilReady(networks);
    await end();
    // What was needed for a moment is given back within a few seconds.
    await pause(5_000);
    const megabytes = await stage.residentMb();
    const name = `resident memory, ${networks} Networks and ${pods} pods`;
    return [{ name, unit: 'MB', ours: summarise([megabytes]), bound: { most: 256 } }];
  } finally {
    await user.close();
    await stage.stop();
  }
}
