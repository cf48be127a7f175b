import { readFile } from 'node:fs/promises';
import { DEFAULT_PATH } from './default-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';
import { addBusybox, findProgram } from './rootfs.ts';

/** As docker.io/library/busybox, from the machine's own busybox. */
export async function busyboxImage(): Promise<CachedImage> {
  return {
    name: 'busybox',
    key: await imageKey(await readFile(await findProgram('busybox'))),
    make: async (layout, scratch) => {
      await addBusybox(scratch);
      await writeOciLayout(layout, scratch, { Cmd: ['sh'], Env: [DEFAULT_PATH] });
    },
  };
}
