import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ReleaseSettings } from './obstacles.ts';
import { Refusal } from './run.ts';

/** Builds the image of a checkout with its `make image`, and shows the output. */
export async function build({ image, base, builder }: ReleaseSettings, tree: string): Promise<void> {
  const variables = [`IMAGE=${image}`, `BASE=${base}`, `BUILDER=${builder}`];
  const make = spawn('make', ['--no-print-directory', 'image', ...variables], {
    cwd: tree,
    // Standard output is for the result of the release.
    stdio: ['ignore', 2, 2],
  });
  const [code] = await once(make, 'close');
  if (code !== 0) throw new Refusal(`\`make image\` ended with code ${code}: see above`);
}
