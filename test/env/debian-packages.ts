import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, glob } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot, hostTarget } from './control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from './control-plane/progress.ts';
import { makeWhole } from './whole-directory.ts';

const run = promisify(execFile);

/**
 * Gets Debian packages once, and unpacks them into the cache; they are not installed. Resolves to the directory that stands
 * for `/`. Rejects where there is no apt-get, or it has no such package; root is needed only where its lists are missing.
 */
export async function ensureDebianPackages(
  name: string,
  packages: readonly string[],
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const { goos, goarch } = hostTarget();
  const directory = join(cacheRoot(env), name, `${goos}-${goarch}`);
  if (!existsSync(directory)) {
    await withProgress(progress, `getting ${name}`, (detail) => unpack(directory, packages, detail));
  }
  return directory;
}

async function unpack(
  directory: string,
  packages: readonly string[],
  detail: (text: string) => void,
): Promise<void> {
  await makeWhole(directory, async (temporary, whole) => {
    // apt-get as root downloads as a user of its own.
    await chmod(temporary, 0o777);
    const script = 'cd "$0" && apt-get --option=Acquire::Retries=3 --quiet download "$@"';
    const download = () => run('sh', ['-c', script, temporary, ...packages]);
    await download().catch(async (err: unknown) => {
      if (process.getuid?.() !== 0) throw err;
      detail('apt-get update');
      await run('apt-get', ['--option=Acquire::Retries=3', '--quiet', 'update']);
      await download();
    });
    for await (const file of glob(join(temporary, '*.deb')))
      await run('dpkg-deb', ['--extract', file, whole]);
  });
}
