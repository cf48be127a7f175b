import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostTarget } from '../../control-plane/cache-directory.ts';
import { ENVOY_REQUIREMENTS, ensureEnvoy } from '../../envoy-binary.ts';
import { DEFAULT_PATH } from './default-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';
import { addBusybox, copyProgram } from './rootfs.ts';

/**
 * As docker.io/envoyproxy/envoy: the program where that image has it, with a shell beside it. Unlike that image's, the
 * entry point is Envoy itself.
 */
export async function envoyImage(): Promise<CachedImage> {
  return {
    name: 'envoy',
    key: await imageKey(await readFile(ENVOY_REQUIREMENTS), hostTarget().goarch),
    make: async (layout, scratch, detail) => {
      const rootfs = join(scratch, 'rootfs');
      detail('getting Envoy');
      // Its progress is a detail of ours.
      const program = await ensureEnvoy(process.env, { isTTY: false, write: () => true });
      detail('copying');
      await copyProgram(rootfs, program, '/usr/local/bin/envoy');
      await addBusybox(rootfs);
      await writeOciLayout(layout, rootfs, { Entrypoint: ['/usr/local/bin/envoy'], Env: [DEFAULT_PATH] });
    },
  };
}
