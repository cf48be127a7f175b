import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPinnedModule } from '../../control-plane/pinned-module.ts';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { ensureGoProgram } from '../go-program.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';

/** Finds the program pause in the cache, and first builds it where it is not there. */
export async function ensurePause(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  const directory = join(projectDirectory(), 'test', 'env', 'cluster', 'pause');
  const source = join(directory, 'main.go');
  const { goVersion } = await readPinnedModule();
  return ensureGoProgram(
    { name: 'pause', directory, package: source, goVersion, sources: [source] },
    env,
    progress,
  );
}

/** What holds a pod's namespaces: the sandbox's image. */
export async function pauseImage(program: string): Promise<CachedImage> {
  return {
    name: 'pause',
    key: await imageKey(await readFile(program)),
    make: async (layout, scratch) => {
      await copyFile(program, join(scratch, 'pause'));
      await writeOciLayout(layout, scratch, { Entrypoint: ['/pause'], User: '65535:65535' });
    },
  };
}
