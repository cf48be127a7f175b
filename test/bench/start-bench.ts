import { setTimeout as pause } from 'node:timers/promises';
import { memoryOf } from '../support/operator/process-memory.ts';
import type { Measurement } from './measurement.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE, setStage } from './stage.ts';
import { summarise } from './statistics.ts';

/** From the start of the process until /readyz says that it can answer the API server. */
export async function startBench({ runs }: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage({ args: [ALONE] });
  try {
    const seconds: number[] = [];
    for (let run = 0; run < runs; run++) {
      stage.operator.process.kill();
      await stage.operator.process.exited;
      const start = performance.now();
      await stage.operator.restart();
      seconds.push((performance.now() - start) / 1000);
    }
    // What was needed for a moment is given back within some seconds.
    await pause(20_000);
    const { own } = await memoryOf(stage.operator.process.pid);
    return [
      { name: 'cold start to ready', unit: 's', ours: summarise(seconds) },
      {
        name: 'resident memory, idle',
        unit: 'MB',
        ours: summarise([await stage.residentMb()]),
        bound: { most: 120 },
      },
      { name: 'of it, without the pages of files', unit: 'MB', ours: summarise([own]) },
    ];
  } finally {
    await stage.stop();
  }
}
