import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { ensureGoProgram } from '../../go/go-program.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';

/** Finds the program pause in the cache, and first builds it where it is not there. */
export async function ensurePause(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  const source = join(projectDirectory(), 'test', 'env', 'cluster', 'images', 'pause.go');
  return ensureGoProgram({ name: 'pause', package: source }, env, progress);
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
