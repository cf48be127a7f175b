import { chmod, copyFile, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_PATH } from '../cluster/images/default-path.ts';
import { type CachedImage, ensureImage, imageKey } from '../cluster/images/image-cache.ts';
import { writeOciLayout } from '../cluster/images/oci-layout.ts';
import { addBusybox } from '../cluster/images/rootfs.ts';
import { ensureImages } from '../cluster/images.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { pinOf } from '../go/pins.ts';
import { ensureMultusPrograms, MULTUS, type Programs } from './programs.ts';

/** As Multus' Dockerfile.thick makes it, with busybox in place of Debian: it looks for its user, and for a container's network in /var/run. */
async function multusImage(programs: Programs): Promise<CachedImage> {
  const contents = await Promise.all(Object.values(programs).map((path) => readFile(path)));
  return {
    name: 'multus-thick',
    key: await imageKey('busybox, /var/run', ...contents),
    kept: 1,
    make: async (layout, scratch) => {
      await addBusybox(scratch);
      await mkdir(join(scratch, 'var'));
      await symlink('/run', join(scratch, 'var/run'));
      const bin = join(scratch, 'usr/src/multus-cni/bin');
      await mkdir(bin, { recursive: true });
      for (const [name, path] of Object.entries(programs)) {
        await copyFile(path, join(bin, name));
        await chmod(join(bin, name), 0o755);
      }
      const Entrypoint = ['/usr/src/multus-cni/bin/multus-daemon'];
      await writeOciLayout(layout, scratch, { Entrypoint, Env: [DEFAULT_PATH] });
    },
  };
}

/** OCI layouts of what the documents' examples pull from registries, by name. */
export async function ensurePublicImages(
  pause: string,
  networks: boolean,
  progress: ProgressStream,
): Promise<ReadonlyMap<string, string>> {
  const layouts = new Map(await ensureImages(['busybox', 'envoy'], pause, progress));
  if (networks) {
    const multus = await ensureImage(await multusImage(await ensureMultusPrograms(progress)), progress);
    layouts.set(`ghcr.io/k8snetworkplumbingwg/multus-cni:${pinOf(MULTUS).version}-thick`, multus);
  }
  return layouts;
}

/** OCI layouts of our own images, by the names that `make image` and `make capture-image` give them. */
export function ensureOwnImages(
  pause: string,
  progress: ProgressStream,
): Promise<ReadonlyMap<string, string>> {
  return ensureImages(['envoy-initializer', 'envoy-initializer-capture'], pause, progress);
}
