import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ProgressStream, withProgress } from '../../test/env/control-plane/progress.ts';
import { baseOf, withBaseDigest, withoutDigest } from './base-image.ts';
import { run } from './run.ts';

/** Those of the images that this project builds. */
export const DOCKERFILES = ['Dockerfile', 'deploy/transparent/Dockerfile'];

/** Asks registries what the bases of these Dockerfiles are today, and writes their digests there. */
export async function pinBases(
  crane: string,
  directory: string,
  dockerfiles: readonly string[],
  progress: ProgressStream,
): Promise<void> {
  for (const path of dockerfiles) {
    const file = join(directory, path);
    const text = await readFile(file, 'utf8');
    const tag = withoutDigest(baseOf(text));
    const digest = await withProgress(progress, `${path}: asking for the digest of ${tag}`, () =>
      run(crane, ['digest', tag]),
    );
    await writeFile(file, withBaseDigest(text, digest.trim()));
  }
}
