import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { takeBuildLock } from '../../control-plane/build-lock.ts';
import { cacheRoot } from '../../control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { makeWhole } from '../../whole-directory.ts';

/** An image to be made once. */
export interface CachedImage {
  readonly name: string;
  /** Changes with all that the image is made of: see `imageKey`. */
  readonly key: string;
  /** How many of it are kept, where not as many as of others. */
  readonly kept?: number;
  /** Makes its OCI layout in a directory that is there, and may use another, which is removed. */
  readonly make: (layout: string, scratch: string, detail: (text: string) => void) => Promise<void>;
}

/** Of each image, those used last are kept: a cluster that runs may have been started with the one before. */
const KEPT = 4;

/** Twelve hex digits over the sources in this directory, the recipes, and over what an image is made from. */
export async function imageKey(...inputs: readonly (string | Buffer)[]): Promise<string> {
  const directory = join(projectDirectory(), 'test', 'env', 'cluster', 'images');
  const recipes = (await readdir(directory)).toSorted().map((name) => readFile(join(directory, name)));
  const hash = createHash('sha256');
  for (const input of [...(await Promise.all(recipes)), ...inputs]) hash.update(input).update('\0');
  return hash.digest('hex').slice(0, 12);
}

/** Finds the directory of an image in the cache, and first makes it where it is not there. */
export async function ensureImage(
  { name, key, kept = KEPT, make }: CachedImage,
  progress: ProgressStream,
): Promise<string> {
  const images = join(cacheRoot(process.env), 'images');
  const layout = join(images, `${name}-${key}`);
  await mkdir(images, { recursive: true });
  const lock = await takeBuildLock(join(images, `.${name}.lock`), `image ${name}`, progress);
  try {
    if (!existsSync(layout)) {
      await withProgress(progress, `making image ${name}`, (detail) =>
        makeWhole(layout, async (temporary, whole) => {
          const scratch = join(temporary, 'scratch');
          for (const path of [whole, scratch]) await mkdir(path);
          await make(whole, scratch, detail);
        }),
      );
    }
    const now = new Date();
    await utimes(layout, now, now);
    await prune(images, name, kept);
  } finally {
    lock.release();
  }
  return layout;
}

async function prune(images: string, name: string, kept: number): Promise<void> {
  // Beside those that are complete, what a build left that was killed: the lock is ours.
  const layouts = (await readdir(images)).filter(
    (entry) => entry.startsWith(`${name}-`) && /^[0-9a-f]{12}(\.\w+)?$/.test(entry.slice(name.length + 1)),
  );
  const used = await Promise.all(
    layouts.map(async (entry) => ({
      entry,
      time: entry.includes('.') ? 0 : (await stat(join(images, entry))).mtimeMs,
    })),
  );
  for (const { entry } of used.sort((a, b) => b.time - a.time).slice(kept)) {
    await rm(join(images, entry), { recursive: true, force: true });
  }
}
