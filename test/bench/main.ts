import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { isMet, type Measurement } from './measurement.ts';
import { canPin } from './pinned.ts';
import { progress } from './progress.ts';
import { report } from './report.ts';
import { routeBench } from './route-bench.ts';
import { scaleBench } from './scale-bench.ts';
import { type BenchSettings, settingsFrom } from './settings.ts';
import { webhookBench } from './webhook-bench.ts';

/** In the order in which they run. */
const scenarios: Readonly<Record<string, (settings: BenchSettings) => Promise<readonly Measurement[]>>> = {
  routes: routeBench,
  webhook: webhookBench,
  scale: scaleBench,
};
const RESULT = join(projectDirectory(), 'out/bench.json');

// Measures, prints a table and writes it down. Ends with 1 where a bound of the design is not met.
const settings = settingsFrom(process.env);
const names = settings.only.length > 0 ? settings.only : Object.keys(scenarios);
const unknown = names.filter((name) => !Object.hasOwn(scenarios, name));
if (unknown.length > 0)
  throw new RangeError(`BENCH_ONLY: expected ${Object.keys(scenarios)}, got ${unknown}`);

const measurements: Measurement[] = [];
for (const [i, name] of names.entries()) {
  progress(`${i + 1} of ${names.length}: ${name}`);
  measurements.push(...((await scenarios[name]?.(settings)) ?? []));
}

const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`;
const git = (...args: readonly string[]) =>
  execFileSync('git', args, { cwd: projectDirectory() }).toString().trim();
const entry = {
  date: new Date().toISOString().slice(0, 10),
  commit: git('rev-parse', '--short', 'HEAD'),
  machine,
  node: process.version,
};
process.stdout.write(`${report(measurements)}\n`);
process.stdout.write(`${machine}, Node ${process.version}, `);
process.stdout.write(`${canPin() ? 'server and load on a core each' : 'not pinned to cores'}, `);
process.stdout.write(`${settings.runs} runs of ${settings.seconds} s: median (lowest–highest)\n`);
await mkdir(join(projectDirectory(), 'out'), { recursive: true });
await writeFile(RESULT, `${JSON.stringify({ ...entry, settings, measurements }, undefined, 2)}\n`);
process.exitCode = measurements.some((one) => isMet(one) === false) ? 1 : 0;
