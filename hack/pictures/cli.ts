import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { runCommand } from '../../test/env/control-plane/run-command.ts';
import { reviewPlot } from './review-plot.ts';
import { terminalPicture } from './terminal-picture.ts';

// Draws the pictures of the documents: the output of `make run`, and the last figures of BENCH_RECORD=1 make bench.

const CHAPTERS = [
  'A pod that opts in',
  'A Deployment in a namespace that opts in',
  'A pod that does not opt in',
  'A Network',
  'Summary',
];
const path = (file: string) => join(projectDirectory(), file);

const env = { ...(process.env as Record<string, string>), FORCE_COLOR: '1' };
const { stdout, stderr, code } = await runCommand(process.execPath, [path('hack/run.ts'), '--once'], env, '');
if (code !== 0) throw new Error(`expected exit code 0 of the demo, got ${code}:\n${stdout}${stderr}`);
await writeFile(path('docs/run.svg'), terminalPicture(stdout, CHAPTERS));
process.stdout.write('docs/run.svg\n');

await draw('reviews', 'webhook', reviewPlot);

/** Draws what a scenario of the benchmark has recorded. */
async function draw<T>(name: string, scenario: string, plot: (recorded: T) => string): Promise<void> {
  const [recorded, picture] = [`test/bench/${name}.json`, `test/bench/${name}.svg`];
  if (existsSync(path(recorded))) {
    await writeFile(path(picture), plot(JSON.parse(await readFile(path(recorded), 'utf8'))));
    process.stdout.write(`${picture}\n`);
  } else
    process.stdout.write(
      `${recorded} does not exist: run BENCH_RECORD=1 BENCH_ONLY=${scenario} make bench\n`,
    );
}
