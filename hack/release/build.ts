import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import type { ReleaseSettings } from './obstacles.ts';
import { Refusal } from './run.ts';

/** Builds the image with `make image`, and shows its output. */
export async function build({ image, base, builder }: ReleaseSettings): Promise<void> {
  const variables = [`IMAGE=${image}`, `BASE=${base}`, `BUILDER=${builder}`];
  const make = spawn('make', ['--no-print-directory', 'image', ...variables], {
    cwd: projectDirectory(),
    // Standard output is for the result of the release.
    stdio: ['ignore', 2, 2],
  });
  const [code] = await once(make, 'close');
  if (code !== 0) throw new Refusal(`\`make image\` ended with code ${code}: see above`);
}
