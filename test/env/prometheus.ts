import { existsSync } from 'node:fs';
import { chmod, glob } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot, hostTarget } from './control-plane/cache-directory.ts';
import { hasCode } from './control-plane/has-code.ts';
import { type ProgressStream, withProgress } from './control-plane/progress.ts';
import { runCommand } from './control-plane/run-command.ts';
import { makeWhole } from './whole-directory.ts';

/** Paths of the two programs. */
export interface Prometheus {
  readonly prometheus: string;
  readonly promtool: string;
}

/**
 * Finds Prometheus in the cache, and first gets it, from its Debian package, which is unpacked there and not installed.
 * Rejects where there is no apt-get, or it has no such package; root is needed only where its lists are missing.
 */
export async function ensurePrometheus(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<Prometheus> {
  const { goos, goarch } = hostTarget();
  const directory = join(cacheRoot(env), 'prometheus', `${goos}-${goarch}`);
  if (!existsSync(directory)) {
    await withProgress(progress, 'getting Prometheus', (detail) => unpack(directory, detail));
  }
  const program = (name: string) => join(directory, 'usr', 'bin', name);
  return { prometheus: program('prometheus'), promtool: program('promtool') };
}

async function unpack(directory: string, detail: (text: string) => void): Promise<void> {
  await makeWhole(directory, async (temporary, whole) => {
    // apt-get as root downloads as a user of its own.
    await chmod(temporary, 0o777);
    const download = [
      'cd "$0" && apt-get --option=Acquire::Retries=3 --quiet download prometheus',
      temporary,
    ];
    await run('sh', ['-c', ...download]).catch(async (err: unknown) => {
      if (process.getuid?.() !== 0) throw err;
      detail('apt-get update');
      await run('apt-get', ['--option=Acquire::Retries=3', '--quiet', 'update']);
      await run('sh', ['-c', ...download]);
    });
    for await (const file of glob(join(temporary, '*.deb')))
      await run('dpkg-deb', ['--extract', file, whole]);
  });
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const { code, stderr } = await runCommand(command, args, env, '').catch((err: unknown) => {
    if (hasCode(err, 'ENOENT')) throw new Error(`no ${command}: it is had from its Debian package`);
    throw err;
  });
  if (code !== 0) throw new Error(`${[command, ...args].join(' ')}: ${stderr.trim()}`);
}
