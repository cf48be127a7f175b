import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ProgressStream, withProgress } from '../../test/env/control-plane/progress.ts';
import { baseOf, withBaseDigest, withoutDigest } from './base-image.ts';
import { run } from './run.ts';

/** The Dockerfiles of this project. */
export const DOCKERFILES = ['Dockerfile', 'deploy/transparent/Dockerfile'];

/** Reads the current digests of the base images from their registries, and writes them into the Dockerfiles. */
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
    const digest = await withProgress(progress, `${path}: reading the digest of ${tag}`, () =>
      run(crane, ['digest', tag]),
    );
    await writeFile(file, withBaseDigest(text, digest.trim()));
  }
}
