import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot, hostTarget } from '../../control-plane/cache-directory.ts';
import { goBuild } from '../../control-plane/go-build.ts';
import { findGo } from '../../control-plane/go-toolchain.ts';
import { readPinnedModule } from '../../control-plane/pinned-module.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { startSupervisor } from '../../control-plane/supervisor.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';

/** Finds the program pause in the cache, and first builds it where it is not there. */
export async function ensurePause(env: NodeJS.ProcessEnv): Promise<string> {
  const source = join(projectDirectory(), 'hack', 'cluster', 'pause', 'main.go');
  const digest = createHash('sha256')
    .update(await readFile(source))
    .digest('hex');
  const directory = join(cacheRoot(env), 'pause');
  const program = join(directory, digest.slice(0, 12));
  if (existsSync(program)) return program;
  await mkdir(directory, { recursive: true });
  const module = await readPinnedModule();
  await findGo(env, module.goVersion);
  const supervisor = await startSupervisor();
  try {
    const temporaryDirectory = await supervisor.makeDirectory(join(directory, '.building-'));
    const output = join(temporaryDirectory, 'pause');
    const build = {
      name: 'pause',
      package: source,
      output,
      temporaryDirectory,
      module,
      target: hostTarget(),
    };
    await goBuild(supervisor, { ...build, env }, () => {});
    await rename(output, program);
  } finally {
    await supervisor.stop();
  }
  return program;
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
